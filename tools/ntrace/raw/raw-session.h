/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files of raw trace as a session, which commands use like that of a recording. */
#ifndef NTRACE_RAW_SESSION_H
#define NTRACE_RAW_SESSION_H

#include "cli/recording.h"

/* Return true if an option that describes raw trace, except --raw itself, is given. */
bool raw_is_described(const struct raw_options *raw);

/* Open the files of --raw. Return NULL after an error, which was reported. */
struct nt_session *raw_session_open(const struct recording_options *options);

#endif /* NTRACE_RAW_SESSION_H */
