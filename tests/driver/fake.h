/* SPDX-License-Identifier: GPL-2.0-only */
/* Interface of the model of the trace hardware, which the driver's tests use */
#ifndef NTRACE_TEST_FAKE_H
#define NTRACE_TEST_FAKE_H

#include <stdbool.h>
#include <stdint.h>

/* Address and size of the memory that a sink may write */
#define FAKE_MEM_BASE	0x80000000ULL
#define FAKE_MEM_SIZE	(1 << 20)
extern uint8_t fake_mem[FAKE_MEM_SIZE];
/* Number of writes outside of fake_mem, and number of programming errors that the model found */
extern unsigned int fake_outside;
extern unsigned int fake_reports;

struct fake_encoder_options {
	bool		minimal;
	bool		btm_only;
	unsigned int	ver_major, ver_minor, protocol_major;	/* 0 in the major versions means their default, 1 */
	unsigned int	active_delay, empty_delay;
	bool		old;		/* The major version of the registers is 0, and not the default */
	bool		no_clock;
	bool		both_formats;	/* the encoder also supports E-Trace */
	uint32_t	fifo_depth;	/* size of the FIFO in bytes, or 0 if it is never full */
	uint32_t	features_fixed, control_fixed;	/* bits of the registers that are always 1 */
	unsigned int	ts_active_delay, enable_delay;
	bool		etrace;		/* the encoder supports only E-Trace */
	unsigned int	ir_modes;	/* bitmap of supported trTeInstImplicitReturnMode. 0 means all */
	unsigned int	sync_max;	/* the highest trTeInstSyncMax. 0 means 15 */
	unsigned int	ts_modes;	/* bitmap of supported trTsMode. 0 means all */
};

struct fake_ram_options {
	bool		sram;		/* the sink supports only SRAM */
	uint32_t	sram_size;
	uint32_t	align;
	uint64_t	lowest, highest;
	bool		fixed;
	bool		no_stop;
	uint8_t		sizes;		/* window sizes: 0: any; 1: rounded down to a power of 2; 2: rounded up */
	bool		keeps_rest;	/* The sink is not empty after a stop on wrap */
	unsigned int	active_delay, empty_delay, enable_delay;
	bool		both;		/* the sink supports SRAM in addition to SMEM */
	uint32_t	start_align;	/* alignment of trRamStart in bytes, or 0 if it is @align */
	bool		stop_fixed;	/* trRamStopOnWrap is always 1 */
	bool		limit_fixed;	/* trRamLimit of SRAM is fixed */
	unsigned int	format;		/* trRamMemFormat, which is fixed */
};

void fake_init(void);
/*
 * Add a component, and return the address of its registers. @out is the component to which the new
 * component sends its trace
 */
void *fake_ram(const struct fake_ram_options *opt);
void *fake_funnel(void *out, unsigned int inputs, unsigned int fifo);
void *fake_encoder(void *out, unsigned int input, const struct fake_encoder_options *opt);
/*
 * These functions add the components between an encoder and a CoreSight fabric. @highest is the highest address to
 * which the ETR can write
 */
void *fake_etr(uint64_t highest);
void *fake_etf(void *out);
void *fake_csfunnel(void *out);
void *fake_bridge(void *out, unsigned int input);
/*
 * Add SiFive's components of version 0, which are a funnel that is also a sink, and encoders that send to this funnel
 */
void *fake_sifive_funnel(void);
void *fake_sifive_encoder(void *out, unsigned int hart, unsigned int src_id);
/* Let an external debugger set a claim tag */
void fake_claim(void *coresight);
/* Add a component of another kind, with the value @impl in its Impl register */
void *fake_other(uint32_t impl);

/* The model calls this function at each write to a register, before the write has an effect */
extern void (*fake_on_write)(void *base, unsigned int offset, uint32_t value);
/* The model calls this function at each read of a register */
extern void (*fake_on_read)(void *base, unsigned int offset);

void fake_bus_error(void *base, bool on);
/* Switch the power of a component on or off */
void fake_power_off(void *base);
void fake_fault(void *base, bool active_stuck, bool not_empty);
/* Let trTeEnable of an encoder stay 0, even if 1 is written */
void fake_never_enabled(void *encoder);
/* Set the time CSR */
void fake_set_time(uint64_t time);
/* Freeze the counter of an encoder at @value */
void fake_freeze(void *encoder, uint64_t value);
/* Let the counter of an encoder lag behind the time CSR by @ticks */
void fake_lag(void *encoder, unsigned int ticks);
/* Let a field of the encoder refuse values that the encoder accepted during the driver's probe */
enum fake_lost { FAKE_SYNC_MAX, FAKE_CONTEXT, FAKE_TS_MODES, FAKE_COMPARATORS };
void fake_lose(void *encoder, enum fake_lost what);
/* After this call, all filters except the first also select the privileges @levels */
void fake_other_levels(void *encoder, unsigned int levels);
/* After this call, trRamStopOnWrap cannot be set */
void fake_no_stop(void *ram);
void fake_context(void *encoder, uint64_t scontext);
/* Let the hart of an encoder execute @n blocks, each of which ends with a taken branch */
void fake_run(void *encoder, unsigned int n);
/* Return the value of the register without side effects */
uint32_t fake_peek(void *base, unsigned int offset);

#endif
