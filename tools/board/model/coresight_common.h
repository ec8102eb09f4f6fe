/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that only the files of the CoreSight model use. */
#ifndef NTRACE_BOARD_CORESIGHT_COMMON_H
#define NTRACE_BOARD_CORESIGHT_COMMON_H

#include "coresight.h"
#include "regs_common.h"

/* nb_cs_init() - registers after power-up; all that describes @cs is set before */
void nb_cs_init(struct nb_cs *cs, const char *name);

#endif /* NTRACE_BOARD_CORESIGHT_COMMON_H */
