/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations for the files of the register model and for the board's power controller */
#ifndef NTRACE_BOARD_REGS_COMMON_H
#define NTRACE_BOARD_REGS_COMMON_H

#include "regs_te.h"

void nb_dev_init(struct nb_dev *dev, const struct nb_dev_ops *ops, const char *name);
void nb_dev_report(struct nb_dev *dev, enum nb_report what, unsigned int offset, uint32_t value);

/* Access to the values that loads return (nb_dev.shadow). nb_put() reports a change to the owner. */
uint32_t nb_get(const struct nb_dev *dev, unsigned int offset);
void nb_put(struct nb_dev *dev, unsigned int offset, uint32_t value);
bool nb_written(const struct nb_dev *dev, unsigned int offset);

/* Get and set fields by their masks */
uint32_t nb_field(uint32_t value, uint32_t mask);
uint32_t nb_with(uint32_t value, uint32_t mask, uint32_t field);

uint32_t nb_undef(struct nb_dev *dev);
uint32_t nb_impl(unsigned int type, unsigned int major, unsigned int minor, unsigned int vendor);
void nb_set_empty(struct nb_dev *dev, bool empty);

/* Functions for encoders with any register map */
void nb_te_init_map(struct nb_te *te, const struct nb_dev_ops *ops, const struct nb_te_caps *caps,
		    nb_out_fn out, void *opaque);
void nb_te_trace(struct nb_te *te, bool on);
void nb_te_reset(struct nb_dev *dev);
bool nb_te_holds(struct nb_dev *dev);
void nb_flushed(struct nb_dev *dev);

/* Return the value that a load of a filter's or comparator's register returns after @value was written. */
uint32_t nb_te_legal_filter(const struct nb_te_caps *caps, unsigned int offset, uint32_t value);
uint32_t nb_te_legal_comp(const struct nb_te_caps *caps, unsigned int offset, uint32_t value);
/* If @offset is the control register of a comparator, set or clear the latch of the comparator. */
void nb_te_prime(struct nb_te *te, unsigned int offset, uint32_t control);
/*
 * Read the filters when trace starts. Return a mask of the traced privilege modes. Return 0 if no filter is
 * on, or if the filters depend on more than the mode, so that nb_encoder.qualify must test each block.
 */
uint8_t nb_te_set_filters(struct nb_te *te);

uint32_t nb_ts_legal(const struct nb_ts *ts, uint32_t value);
uint32_t nb_ts_write(struct nb_ts *ts, uint32_t value);
void nb_ts_store(struct nb_dev *dev, struct nb_ts *ts, uint32_t value);
void nb_ts_loaded(struct nb_dev *dev, struct nb_ts *ts);
void nb_ts_refresh(struct nb_dev *dev, const struct nb_ts *ts);

#endif /* NTRACE_BOARD_REGS_COMMON_H */
