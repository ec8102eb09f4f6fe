/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that only the files of the CoreSight model use. */
#ifndef NTRACE_BOARD_CORESIGHT_COMMON_H
#define NTRACE_BOARD_CORESIGHT_COMMON_H

#include "coresight.h"
#include "regs_common.h"

/*
 * nb_cs_init() - set the registers of @cs to their values after power-up, which depend on the properties
 * that the caller has set in @cs
 */
void nb_cs_init(struct nb_cs *cs, const char *name);

#endif /* NTRACE_BOARD_CORESIGHT_COMMON_H */
