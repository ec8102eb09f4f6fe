/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the PC of every instruction.
 */
#ifndef NTRACE_PCS_H
#define NTRACE_PCS_H

#include <ntrace/ntrace.h>

struct pcs;

/* Return NULL if out of memory. */
struct pcs *pcs_new(const struct nt_config *config, const struct nt_image *image);
void pcs_print(struct pcs *pcs, const struct nt_range *ranges, size_t nr);
/* Return false after reporting it if some text could not be written. */
bool pcs_free(struct pcs *pcs);

#endif /* NTRACE_PCS_H */
