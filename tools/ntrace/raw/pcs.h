/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the address of every executed instruction. */
#ifndef NTRACE_PCS_H
#define NTRACE_PCS_H

#include <ntrace/ntrace.h>

struct pcs;

/* Create the printer. Return NULL if out of memory. */
struct pcs *pcs_new(const struct nt_config *config, const struct nt_image *image);
void pcs_print(struct pcs *pcs, const struct nt_range *ranges, size_t nr);
/* Write the remaining text, and free the printer. If some text could not be written, report it, and return false. */
bool pcs_free(struct pcs *pcs);

#endif /* NTRACE_PCS_H */
