# SPDX-License-Identifier: GPL-2.0-only
# Bash completion for the command ntrace, with its commands and the options that their help lists.
_ntrace() {
	local word=${COMP_WORDS[COMP_CWORD]} words
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(ntrace help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif [[ $word == -* ]]; then
		words="--help $(ntrace help "${COMP_WORDS[1]}" 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u)"
	fi
	# shellcheck disable=SC2207
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _ntrace ntrace
