/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NTRACE_TOOL_PAGER_H
#define NTRACE_TOOL_PAGER_H

#include <stdbool.h>

/*
 * pager_begin() - if the standard output is a terminal, show it and the standard error in a pager
 *
 * The variable NTRACE_PAGER names the pager, otherwise the variable PAGER, and otherwise less is the pager. An empty
 * variable, the name cat and a dumb terminal turn the pager off.
 */
void pager_begin(void);

/* pager_end() - wait until the user leaves the pager, if there is one. Return false if it could not be executed. */
bool pager_end(void);

#endif /* NTRACE_TOOL_PAGER_H */
