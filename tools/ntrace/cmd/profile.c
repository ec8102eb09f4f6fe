// SPDX-License-Identifier: GPL-2.0-only
/* ntrace profile - write exact counts of a recording for compilers and coverage tools. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "profile/profile.h"
#include "session/counts/sums.h"
#include "session/file/whole-file.h"
#include "cli/output.h"

static const char usage[] =
	"usage: ntrace profile [OPTIONS] --counts | --lcov | --gcov | --llvm | --bolt | --callgrind\n\n"
	"Write how often the code in a recording of perf was executed: exact counts, without samples\n"
	"and without instrumentation.\n";

bool profile_wants(const struct profile *profile, const char *object)
{
	return object && nt_filter_has_object(&profile->recording.filter, object);
}

/* Compare the position of an instruction with an address in an object. Return a value like strcmp(). */
static int insn_order(const struct nt_profile_insn *insn, const char *object, uint64_t address)
{
	return strcmp(insn->object ?: "", object ?: "") ?: ns_order(insn->address, address);
}

const struct nt_profile_insn *profile_executed(const struct profile *profile, const char *object,
					       uint64_t address)
{
	size_t nr, nth;
	const struct nt_profile_insn *insns = nt_profile_insns(profile->counts, &nr);

	nth = ns_lower_bound(nr, insn_order(&insns[i], object, address) < 0);
	return nth < nr && !insn_order(&insns[nth], object, address) ? &insns[nth] : NULL;
}

/* ---- Command ---- */

/* Report trace that could not be decoded, because the counts do not include it. */
static bool report_errors(const struct profile *profile)
{
	struct nt_profile_totals t;

	nt_profile_totals(profile->counts, &t);
	if (!t.errors && !t.gaps && !t.losses)
		return false;
	fprintf(stderr, "ntrace: counts are too low: trace was lost %s, %s could not be decoded, code was missing %s\n",
		COUNTED(t.losses, "time"), COUNTED(t.errors, "place"), COUNTED(t.gaps, "time"));
	return true;
}

/* Return EXIT_CLEAN if the profile has content. Otherwise report why it has none. */
static int check_content(const struct profile *profile)
{
	const struct nt_profile_insn *insns;
	bool found = false, has_lines = !profile->format->needs_lines;
	const char *object = NULL;
	size_t nr, i;

	insns = nt_profile_insns(profile->counts, &nr);
	for (i = 0; i < nr && !(found && has_lines); i++) {
		if (!profile_wants(profile, insns[i].object))
			continue;
		found = true;
		/* prefer a file, because users can build it with -g */
		if (!object || *object == '[')
			object = insns[i].object;
		struct nt_frame frame = { 0 };

		has_lines |= nt_lines_at(profile->lines, insns[i].object, insns[i].address, &frame, 1) && frame.file;
	}
	if (!found)
		return nothing_matched(&profile->recording, profile->session, NULL);
	return has_lines ? EXIT_CLEAN : nothing_of_lines(object);
}

static int write_profile(struct profile *profile)
{
	struct whole_file whole;
	struct nt_shard shard;
	int err;

	/* write empty counts of a shard, because ntrace merge needs the counts of all shards */
	if (!(profile->format == &profile_counts && nt_session_shard(profile->session, 0, &shard)) && check_content(profile) != EXIT_CLEAN)
		return EXIT_TRACE;
	profile->file = whole_file_open(&whole, profile->output);
	if (!profile->file)
		return output_failed(profile->output);
	errno = 0;
	err = profile->format->write(profile);
	if (whole_file_close(&whole, profile->file, !err) || err)
		return err == EXIT_TRACE ? err : output_failed(profile->output);
	return recording_status(&profile->recording, report_errors(profile));
}

/* Open a file of counts. Return NULL after an error, which was reported. */
static struct nt_session *open_counts(const struct profile *profile)
{
	const struct recording_options *recording = &profile->recording;
	struct nt_session *session;

	if (profile->format->needs_trace || nt_filter_is_set(&recording->filter)) {
		fprintf(stderr, "ntrace: %s%s needs a recording, but %s has only counts\n", profile->format->needs_trace ? "--" : "",
			profile->format->needs_trace ? profile->format->name : "a filter such as --time", recording->input);
		return NULL;
	}
	if (!nt_session_open_counts(&session, recording->input, &recording->session)) {
		if (nt_session_lacks_kernel(session))
			fputs("ntrace: counts of a kernel are left out; name a recording that has it by --kcore\n",
			      stderr);
		return session;
	}
	fprintf(stderr, "ntrace: %s\n", nt_session_error(session));
	nt_session_close(session);
	return NULL;
}

static int run_profile(struct profile *profile)
{
	int status = EXIT_USAGE;

	if (!profile->recording.raw.traces.nr && nt_sums_is_file(profile->recording.input))
		profile->session = open_counts(profile);
	else
		profile->session = recording_open(&profile->recording);
	if (!profile->session)
		return EXIT_USAGE;
	profile->counts = nt_profile_new(profile->session, &profile->recording.filter);
	profile->lines = nt_lines_new(profile->session);
	if (!profile->counts || nt_profile_run(profile->counts))
		recording_failed(profile->session);
	else
		status = write_profile(profile);
	recording_report(profile->session);
	recording_report_lines(profile->lines);
	nt_lines_free(profile->lines);
	nt_profile_free(profile->counts);
	nt_session_close(profile->session);
	return status;
}

static bool set_format(const struct option_entry *option, const char *arg)
{
	static const struct profile_format *const formats[] = {
		&profile_counts, &profile_lcov, &profile_gcov, &profile_llvm, &profile_bolt, &profile_callgrind,
	};
	const struct profile_format **format = option->to, *named = formats[option->value];

	if (*format && *format != named)
		return refuse("profile writes one format, not --%s and --%s", (*format)->name, named->name);
	*format = named;
	return true;
}

/* Return false if an option would have no effect, which was reported. */
static bool are_options_used(const struct profile *profile)
{
	if (profile->recording.filter.object && profile->format == &profile_counts)
		fputs("ntrace: --object is for the formats of one program, but --counts writes the counts of all programs; use one of the two\n", stderr);
	else if (profile->recording.session.kcore && !nt_sums_is_file(profile->recording.input))
		fputs("ntrace: --kcore is for a file of counts: a recording has the code of its kernel\n", stderr);
	else
		return true;
	return false;
}

int cmd_profile(int argc, char **argv)
{
	struct profile profile = { .output = "-" };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&profile.recording),
		FILTER_OPTIONS(&profile.recording),
		OPTION_TEXT(0, "kcore", "DIR", &profile.recording.session.kcore,
			    "a recording with the kernel's code, if -i is a file of counts"),
		OPTION_TEXT('o', "output", "FILE", &profile.output, "the file to write (standard output)"),
		OPTION_KIND("counts", NULL, set_format, &profile.format, 0, "all counts, for ntrace merge, and for -i with the other formats"),
		OPTION_KIND("lcov", NULL, set_format, &profile.format, 1, "lines, functions and branches, for genhtml"),
		OPTION_KIND("gcov", NULL, set_format, &profile.format, 2, "the same as gcov prints it, of all files"),
		OPTION_KIND("llvm", NULL, set_format, &profile.format, 3, "a sample profile for clang -fprofile-sample-use"),
		OPTION_KIND("bolt", NULL, set_format, &profile.format, 4, "branches and the code between them, for perf2bolt -pa"),
		OPTION_KIND("callgrind", NULL, set_format, &profile.format, 5, "instructions of each line, and calls, for KCachegrind"),
		{ 0 }
	};
	int status;

	recording_init(&profile.recording);
	status = recording_parse(argc, argv, usage, options, &profile.recording);
	if (status >= 0)
		return status;
	if (!profile.format)
		return usage_error("profile needs a format; `ntrace help profile` lists them");
	if (!are_options_used(&profile))
		return EXIT_USAGE;
	return run_profile(&profile);
}
