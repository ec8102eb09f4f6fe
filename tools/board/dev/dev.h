/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Subcommands of ntrace-dev. argv[0] is the name with which messages begin. Each function returns the
 * exit status.
 */
#ifndef NTRACE_DEV_H
#define NTRACE_DEV_H

int cmd_bench(int argc, char **argv);
int cmd_encode(int argc, char **argv);
int cmd_verify(int argc, char **argv);

#endif /* NTRACE_DEV_H */
