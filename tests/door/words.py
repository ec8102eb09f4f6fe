#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count writing habits that confuse new readers, and check the subjects of commits.

    words.py habits [FOLDER ...]   each habit in the comments and sentences of FOLDER, and what to write
    words.py ceilings FILE         compare the share of each folder with its ceiling in FILE
    words.py subjects              check the lines of standard input as subjects of commits
    words.py messages [FOLDER ...] print FILE:LINE<TAB>MESSAGE for each message that the sources of FOLDER can print

A habit marks a place to check. A comment describes who does what to what, and why. CONTRIBUTING.md has the rules.
"""
import re
import subprocess
import sys

# The name of each writing habit, the regular expression that finds it, and the words to write instead
HABITS = [(name, re.compile(pattern), better) for name, pattern, better in (
    ('a colon in place of a verb', r'[a-z)]: [a-z]', 'because, so that, which means'),
    ('a question', r'\?$', 'return true if'),
    ('what or who as a noun', r'\b(?:at|by|for|from|in|is|of|than|that|to|with) who(?:ever)?\b|'
     r'\bwhat(?:ever)? (?:an?|has|is|it|no|the|they|was)\b', 'the name of the thing'),
    ('as for because', r', as (?:all|an?|each|in|it|no|of|that|the|there|these|they|this|those)\b', 'because, such as'),
    ('where for if', r'\bwhere (?:an?|it|no|nothing|one|some|the|there|they|this)\b', 'if, when'),
    ('of its own', r"\bof (?:his|its|one's|their|your)s? own\b", 'its own'),
    ('an adverb at the end', r'\b(?:after|again|before|meanwhile|then|too|yet)\.?$', 'the adverb before the verb'),
    ('a thing that speaks', r'\b(?:says?|said|tells?|told)\b', 'reports, contains, encodes'),
    ('a verb of movement', r'\b(?:hand(?:ed|s)? (?:on|over)|(?:goes|going|gone|went) on|g(?:ave|ives?|iven) (?:back|out)|'
     r'comes?|came|stands?|stood)\b', 'continues, returns, submits, is stored, arrives'),
    ('ones that, so many', r'\bones? that\b|\bthose that\b|\bso (?:long|many|much)\b|\bsuch an?\b', 'the noun once more'),
    ('is no', r'\b(?:are|is|was|were) no\b', 'is not a'),
    ('of or as at the start', r'^(?:As|Of) ', 'the subject first'),
    ('nobody', r'\b(?:[Aa]ny|[Nn]o|[Ss]ome)body\b', 'the function, thread or CPU'),
    ('begin as a noun', r'\b(?:an?|its|the) begin\b', 'start, beginning'),
    ('also if', r'\balso (?:if|in|of|when|while|with|without)\b', 'even if'))]
DOCUMENTS = ('.rst', '.md', '.txt', '.1', '.3')
C_FILES = ('.c', '.h', '.S', '.js', '.css')
SUFFIXES = DOCUMENTS + C_FILES + ('.py', '.sh', '.t', '.mk')
# Leave out test data, and texts that other projects wrote
LEFT_OUT = re.compile(r'tests/(?:ntt|fuzz/corpus|abi)/|LICENSES/|samples/|COPYING|Documentation/perf-ntrace.txt')
# These imperatives end with -ed, -ing or -s, so allow them in the subject of a commit
IMPERATIVES = {'embed', 'exceed', 'feed', 'need', 'proceed', 'seed', 'shed', 'speed', 'spread', 'bring', 'string', 'focus', 'bias'}

# A string with two words is a message if this pattern finds the name of the called function, or if stderr gets the string
TELLER = re.compile(r'(?:^|_)(?:corrupt|differ|err|error|fail|failed|fatal|incomplete|no_code|notice|problem|refuse|say|tell|warn|warning)'
                    r'(?:_move|_once|_probe)?$|^(?:dev|pr)_info|^\s*stderr')
# A string with three words is a message whatever function gets it, except names, lines of the help, JSON and code of
# other languages
NO_TELLER = re.compile(r'(?:FIELD|OPTION_\w+|__asm__|prepare)$')
NO_MESSAGE = re.compile(r'(?s)(?:\\n)*usage: |INSERT |UPDATE |PRAGMA |if command |define |proc |# callgrind |.*(?:\\"[:>]|grep -q)')
NAMES = re.compile(r'tools/(?:board/(?:model/encoder|plugin/options)|lib/ntrace/names|ntrace/(?:ntrace|cmd/setup|page/viewer/theme))\.')
NO_SOURCE = re.compile(r'/tests?/|\.(?:rst|md|txt|css|[13])$')
WORD = re.compile(r"(?<![^\s('])-{0,2}[A-Za-z][A-Za-z'-]+(?![^\s,.;:)?!'])")
C_STRING = r'"(?:\\.|[^"\\\n])*"'
C_TOKEN = re.compile(r"(?s)/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])+'|#[ \t]*(?:include[^\n]*|define[ \t]+\w+)|"
                     rf'(?P<string>(?:\b[A-Z][A-Z0-9_]+[ \t]+)?{C_STRING}(?:[\s\\]*{C_STRING}|(?:[\\\s]*[ \t])?[A-Za-z]\w+(?![\w(]))*)|'
                     r'(?P<call>\w*)(?P<open>\()(?P<err>\s*stderr\b)?|[);{}]')
# The functions and commands with which Python and shells print messages
SCRIPT = re.compile(r'(?m)^[ \t]*#.*|(?:\b(?:sys\.exit|fail|Error)\(f?(?=["\'])|(?<![\w-])(?P<stdout>echo|printf|print\(f?)[ \t]*|'
                    r'(?:^|[\s;{])(?:die|left_out|older_perf|say)[ \t]+)'
                    r'(?P<string>(?:"(?:\\.|[^"\\])*"|\'[^\']*\'|\\\n|[^\s"\'\\;,&|<>()#][^\s"\'\\;&|<>()]*|[ \t])+)(?P<end>.*)')
JS_STRING = re.compile(r"(?m)//.*|(?P<string>'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)")


def messages(path, text):
    """Yield (line, message) of each message in the source text of the file path."""
    calls = []
    for m in (C_TOKEN if path.endswith(('.c', '.h')) else JS_STRING if path.endswith('.js') else SCRIPT).finditer(text):
        said, least = m.group('string'), 3
        if path.endswith('.js'):
            said = said and said[1:-1]
        elif not path.endswith(('.c', '.h')):
            said = said and re.sub(r"""\\\n\s*|"((?:\\.|[^"\\])*)"|'([^']*)'""", r'\1\2', said)
            least = 99 if m.group('stdout') and not re.search('>&2|stderr', m.group('end')) else 2
        elif said:
            # replace the macros between the pieces of a string by <NAME>, and PRIu64 by u
            said = ''.join(piece[1:-1] if piece[0] == '"' else re.sub('<PRI([a-zA-Z])[A-Z0-9]*>', r'\1', f'<{piece}>')
                           for piece in re.findall(rf'{C_STRING}|\w+', said))
            least = 2 if any(map(TELLER.search, calls)) else 99 if NAMES.match(path) or any(map(NO_TELLER.match, calls)) else 3
        elif m.group('open'):
            calls.append(m.group('err') or m.group('call'))
        elif m.group(0) in (')', ';', '{', '}'):
            del calls[-1 if m.group(0) == ')' else 0:]
        if said and len(WORD.findall(re.sub(r'\$\{[^}]*\}|\\[nrt]', ' ', said))) >= least and not NO_MESSAGE.match(said):
            said = re.sub(r'^(?:\\n)+|(?:\\n)+$', '', ' '.join(said.split()))
            yield text.count('\n', 0, m.start('string')) + 1, said.replace('\\"', '"')


def pieces(path, text):
    """Yield (line, text) of each comment, or of each sentence of a document."""
    if path.endswith(C_FILES):
        found = [(m.start(), re.sub(r'(?m)^\s*\*', ' ', m.group(1) or m.group(2)))
                 for m in re.finditer(r'(?s)/\*+(.*?)\*/|(?<![:/])//([^\n]*)', text)]
    elif path.endswith(DOCUMENTS):
        found = [(p.start(), sentence) for p in re.finditer(r'(?m)(?:^[^\s|:=-].*\n?)+', text)
                 for sentence in re.split(r'(?<=[.!?])\s', p.group(0))]
    else:
        found = [(m.start(), re.sub(r'(?m)^\s*#+:?', ' ', m.group(0))) for m in re.finditer(r'(?m)(?:^[ \t]*#(?!!).*\n?)+', text)]
    for start, piece in found:
        piece = ' '.join(piece.split())
        if len(re.findall('[A-Za-z]{2,}', piece)) >= 4 and 'SPDX' not in piece:
            yield text.count('\n', 0, start) + 1, piece


def texts(folder):
    """Yield (path, text) of each file in FOLDER that people of this project write."""
    for path in subprocess.check_output(['git', 'ls-files', '--', folder], text=True).split('\n'):
        if LEFT_OUT.match(path) or not (path.endswith(SUFFIXES) or path and '.' not in path.split('/')[-1]):
            continue
        try:
            yield path, open(path, encoding='utf-8').read()
        except (OSError, UnicodeDecodeError):
            continue


def count(folder, show=False):
    """Return the number of comments and sentences in FOLDER, and the number of those with a habit."""
    total = bad = 0
    for path, text in texts(folder):
        for line, piece in pieces(path, text):
            habits = [(name, better) for name, pattern, better in HABITS if pattern.search(piece)]
            total += 1
            bad += bool(habits)
            for name, better in habits if show else ():
                print(f'{path}:{line}: {name} (better: {better}): {piece[:150]}')
    return total, bad


def ceilings(path):
    wrong = False
    for line in open(path):
        if not line.strip() or line.startswith('#'):
            continue
        folder, ceiling = line.split()
        total, bad = count(folder)
        share = 100 * bad / total if total else 100
        if share > float(ceiling):
            wrong = True
            print(f'{folder}: {bad} of {total} comments and sentences have a habit, {share:.1f} %; {path} allows {ceiling} %')
            print(f'    tests/door/words.py habits {folder} lists them')
    return wrong


def subjects():
    wrong = False
    for line in sys.stdin.read().split('\n'):
        if not line or line.startswith('Merge '):
            continue
        m = re.match(r'[a-z][\w/., -]*: ([A-Za-z-]+)', line)
        verb = m and m.group(1)
        fault = ('has over 72 columns' if len(line) > 72 else 'has no "area: " at its start' if not m else
                 'has a capital behind its area' if verb[0].isupper() else
                 'has no verb in the imperative behind its area' if verb not in IMPERATIVES and
                 re.search(r'(?:ed|ing|[^s]s)$|^(?:an?|all|more|new|no|the|tests?)$', verb) else 'ends with a full stop' if line.endswith('.') else None)
        if fault:
            wrong = True
            print(f'the subject {fault}: {line}')
    return wrong


if len(sys.argv) < 2 or sys.argv[1] not in ('habits', 'ceilings', 'subjects', 'messages'):
    sys.exit(__doc__)
if sys.argv[1] == 'habits':
    for name in sys.argv[2:] or ['.']:
        print('{}: {} comments and sentences, {} with a habit'.format(name, *count(name, show=True)))
    sys.exit(0)
if sys.argv[1] == 'messages':
    for name in sys.argv[2:] or ['Makefile', 'drivers', 'include', 'tools']:
        for path, text in texts(name):
            for line, said in messages(path, text) if not NO_SOURCE.search(path) else ():
                print(f'{path}:{line}\t{said}')
    sys.exit(0)
sys.exit(ceilings(sys.argv[2]) if sys.argv[1] == 'ceilings' else subjects())
