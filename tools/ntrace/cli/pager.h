/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NTRACE_TOOL_PAGER_H
#define NTRACE_TOOL_PAGER_H

/*
 * pager_begin() - if the standard output is a terminal, show it and the standard error in the pager
 *
 * The variables NTRACE_PAGER and PAGER name the pager, which is less by default. If the variable is empty or names cat,
 * or if the terminal is dumb, there is no pager.
 */
void pager_begin(void);

/* pager_end() - wait until the user leaves the pager, if there is one */
void pager_end(void);

#endif /* NTRACE_TOOL_PAGER_H */
