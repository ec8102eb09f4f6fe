/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated N-Trace board is a QEMU plugin that contains the model of the
 * trace hardware (../model).
 *
 *	stream.c	passes retired instructions to a hart's encoder and truth file
 *	mmio.c		emulates accesses to registers, which are at unused addresses
 *	cache.c		emulates caches that are not coherent with the sinks' memory
 *	csr.c		emulates scontext and hcontext
 *	power.c		emulates harts and components without power
 *	latency.c	measures how long a hart keeps interrupts off
 *	topology.c	creates the components and connects them (also topology-*.c)
 *	memory.c	writes data of sinks to memory or files
 *	claim.c		gives a hart exclusive access to the components
 *	guest.c		accesses registers and memory of the guest
 *	run.c		prints messages, and ends the run
 *	options.c	parses the options of the plugin
 *	main.c		installs the plugin
 *
 * Locking: The thread of a hart enters the hart at the start of a callback of QEMU
 * (hart_enter()), and leaves it at the end (hart_leave()). Between entering and leaving, it owns the hart's encoder and
 * the members of struct hart. A hart that accesses a register claims the components (board_claim()), which means that
 * it waits until all other harts have left, and that they cannot enter before it releases the components. So a store by
 * one hart to the encoder of another hart, idle or not, takes full effect before the next instruction.
 */
#ifndef NTRACE_BOARD_BOARD_H
#define NTRACE_BOARD_BOARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "../model/coresight.h"
#include "../model/insn.h"
#include "../model/regs_te.h"
#include "../model/sifive.h"
#include "qemu_api.h"

#define BOARD_MAX_HARTS		16
#define BOARD_MAX_DEVS		48
#define BOARD_DEV_SIZE		4096
#define BOARD_STAGE_SIZE	(64 << 10)

#define MSTATUS_SPIE	(1ULL << 5)
#define MSTATUS_SPP	(1ULL << 8)
#define MSTATUS_MPP	(3ULL << 11)
#define MSTATUS_MPV	(1ULL << 39)
#define HSTATUS_SPV	(1ULL << 7)

/* Opcodes of the instructions with which a hart waits for an interrupt, and leaves a trap handler in machine mode */
#define WFI			0x10500073U
#define MRET			0x30200073U

/* Values of a hart in QEMU's scoreboard. QEMU's translated code reads and writes them without calling the plugin. */
struct board_score {
	uint64_t	gate;		/* GATE_* flags; if any is set, each TB first calls stream_tb_exec() */
	uint64_t	reached;	/* set when the last instruction of the TB starts */
	uint64_t	spent;		/* time in ns of all executed instructions, see latency.c */
};
#define GATE_STREAM	(1U << 0)	/* the encoder or the truth needs blocks */
#define GATE_MMIO	(1U << 1)	/* a register access is in progress */
#define GATE_STALL	(1U << 2)	/* the encoder stalls the hart */

/*
 * A translation block (TB), which is a piece of guest code that QEMU has translated. The structure exists until QEMU
 * drops all translations. Two of these structures fit into a cache line, because reading them is the main cost of
 * tracing a block.
 */
struct tb_info {
	uint64_t	pc0;		/* guest address for which QEMU translated the code */
	const struct tb_code *code;
	int32_t		target;		/* target of a branch or direct jump, in bytes from the start of the TB */
	uint16_t	half_words;
	uint16_t	ninsn;
	uint8_t		kind;		/* enum nb_insn_kind of the last instruction */
	uint8_t		itype;		/* itype of the last instruction if a branch is taken */
	uint8_t		itype_fall;	/* itype of the last instruction if the hart continues directly after the TB */
	uint8_t		last;		/* half-words of the last instruction */
	uint8_t		sets;		/* register that the last instruction sets to a constant (nb_insn.sets), or 0 */
	/* register with the target (nb_insn.uses) if the TB is a single indirect jump, otherwise 0 */
	uint8_t		first_uses;
	bool		sijump;		/* see nb_ingress.sijump */
	bool		exact;		/* @pc0 is an address of the kernel, so the TB runs only at @pc0 */
} __attribute__((aligned(32)));

/* Properties of a TB that are read rarely */
struct tb_code {
	uint32_t	hash;		/* hash of the code */
	const uint8_t	*bytes;
	uint64_t	wide[];		/* one bit for each instruction, set if the instruction has 32 bits */
};
#define TB_MAX_INSNS	1024

enum mmio_state {
	MMIO_NONE,
	MMIO_FAULTED,	/* the trap was taken, and the next TB is the first of the trap handler */
	MMIO_RETURN,	/* the next TB is the mret that leaves the handler */
};

struct mmio_access {
	uint32_t	opcode;
	uint64_t	epc, addr, value;
	struct nb_dev	*dev;
	unsigned int	offset;
	uint8_t		size, len, reg;
	bool		store, sign;
};

struct hart_stats {
	uint64_t	retired, tbs, partial, exceptions, interrupts, pc_reads, edges, mmio, power_losses;
	uint64_t	resets;
	uint64_t	stalls;		/* number of times that the encoder stalled the hart */
};

/* A time in ns with interrupts off, with accesses to components, and the addresses at which it began and ended */
struct interrupts_off {
	uint64_t	ns, reads, writes, begin, end;
};

/*
 * State of latency.c. @off is set while interrupts are off. @now.ns is then not a duration, but the time
 * (board_score.spent) at which they were turned off.
 */
struct latency {
	bool		off;
	struct interrupts_off now, longest;
};

enum board_reg {
	REG_SP = 2, REG_TP = 4, REG_PC = 32, REG_PRIV, REG_MCAUSE, REG_MEPC, REG_MTVAL, REG_MTVEC, REG_SCAUSE,
	REG_SATP, REG_MSTATUS, REG_TIME, REG_MINSTRET,
	/* Registers that read as 0 if the hart lacks them */
	REG_OPTIONAL, REG_HSTATUS = REG_OPTIONAL, REG_HTIMEDELTA, REG_VSATP, REG_HGATP, REG_MSTATEEN0, REG_HSTATEEN0,
	REG_MAX,
};

struct hart {
	/* set while the hart's thread runs code of the plugin, so that board_claim() waits for it */
	volatile uint32_t busy;
	struct board_score *score;
	const struct tb_info *cur;	/* TB that the hart entered last, until its end was reported; then NULL */
	/*
	 * Encoder of the hart. exec_quickly() counts instructions in the encoder and nowhere else. NULL if a truth file
	 * is written, or if the encoder must get parts of blocks, so that exec_quickly() cannot be used.
	 */
	struct nb_encoder *counting;
	uint64_t	base;		/* address at which @cur runs */
	uint64_t	expect;		/* next pc after a trap or register access, if @have_expect is set */
	bool		have_expect;
	bool		have_priv;	/* @priv contains the privilege mode of the hart */
	bool		quick;		/* exec_quickly() may process the next TB */
	uint8_t		priv;
	uint8_t		sets;		/* register that the last instruction set to a constant (nb_insn.sets), or 0 */
	enum mmio_state	mmio;		/* state of mmio.c */
	struct mmio_access access;
	uint64_t	mret_vec, mret;	/* address of a trap handler (mtvec), and of an mret near it */
	uint64_t	scontext, hcontext;
	atomic_bool	off;		/* the hart has no power, because it waits in machine mode, see power.c */
	struct hart_stats stats;
	struct nb_te	*te;		/* NULL if the hart has no encoder */
	struct nb_truth_writer *truth;
	uint64_t	truth_time_at;
	struct tb_info	kept;		/* copy of *cur, made before the memory of *cur is freed (stream_flush()) */
	uint64_t	kept_code[(sizeof(struct tb_code) + TB_MAX_INSNS / 8 + 4 * TB_MAX_INSNS) / 8];
	unsigned int	index;
	/* Comparison with QEMU's instruction count */
	uint64_t	minstret_next, minstret_last, retired_last, minstret_checks, minstret_diffs;
	uint64_t	interrupts_last;
	uint64_t	uncounted;	/* instructions that QEMU has counted twice since the last check */
	/* Values of stats.retired and the clock from which pace() measures the speed of the hart */
	uint64_t	pace_retired, pace_ns;
	uint64_t	stall_since;	/* in ms; 0 if the hart is not stalled */
	struct latency	latency;
} __attribute__((aligned(64)));

enum dev_kind {
	DEV_ENCODER, DEV_FUNNEL, DEV_RAMSINK, DEV_ATBBRIDGE, DEV_CSFUNNEL, DEV_ETF, DEV_ETR, DEV_POWER,
	DEV_SF_ENCODER, DEV_SF_FUNNEL,
	DEV_KINDS,
};

/* Kinds of memory of a RAM sink. MODE_UNSAID means that the list of components does not specify the kind. */
enum ram_mode { MODE_UNSAID, MODE_SMEM, MODE_SRAM, MODE_BOTH };

#define BOARD_MAX_OUTS	2

/* An output of a component and the connected component */
struct board_out {
	char		to[16];
	struct board_dev *dev;	/* component named @to */
	nb_out_fn	next;
	void		*opaque;
	/* lock of the last funnel on the path, to which several harts send; NULL if the path has no funnel */
	pthread_mutex_t	*lock;
};

struct board_dev {
	enum dev_kind	kind;
	char		name[16];
	struct board_out out[BOARD_MAX_OUTS];
	unsigned int	n_outs;
	/*
	 * For an encoder with two outputs, the last message, if an output has not accepted it. Bit N of
	 * @forked_taken is set if output N has accepted it.
	 */
	uint8_t		forked[256];
	uint8_t		forked_len, forked_taken;
	uint64_t	addr;
	unsigned int	hart;
	struct nb_dev	*dev;
	union {
		struct nb_te	*te;
		struct nb_funnel *funnel;
		struct nb_ram	*ram;
		struct nb_atb	*atb;
		struct nb_cs_funnel *csfunnel;
		struct nb_tmc	*tmc;
		struct nb_sf_funnel *sf_funnel;
		struct nb_dev	*power;	/* the power controller, see power.c */
	};
	unsigned int	domain;		/* domain of the power controller, from 1; 0 if always powered */
	unsigned int	clock, sram, align, burst; /* numbers from the list of components; 0: not specified */
	enum ram_mode	mode;
	uint64_t	loads, stores;	/* number of register accesses */
	struct nb_formatter *formatter;	/* formatter for the file of an ETR in a boot trace */
	/* Bytes of a sink that are not yet written to memory or to @boot_trace, and the address of the first byte */
	uint8_t		*stage;
	uint64_t	stage_addr;
	size_t		stage_len;
	uint64_t	ram_page;	/* last page that was found to be memory */
	uint64_t	bus_errors, interrupts;
	unsigned int	irq;		/* interrupt number at the APLIC, or 0 */
	atomic_bool	irq_due;
	FILE		*boot_trace;	/* file to which a sink writes a boot trace, instead of memory; or NULL */
	/* Lock of a funnel, to which several harts send */
	pthread_mutex_t	*lock;
};

static inline bool board_is_encoder(const struct board_dev *d)
{
	return d->kind == DEV_ENCODER || d->kind == DEV_SF_ENCODER;
}

#define CLAIM_HELD	(1U << 0)	/* a hart has claimed the components, or is about to */
#define CLAIM_IRQ	(1U << 1)	/* before its next block, a hart must raise the interrupts of sinks */

struct board {
	unsigned int	n_harts, n_devs;
	struct hart	harts[BOARD_MAX_HARTS];
	struct board_dev devs[BOARD_MAX_DEVS];
	struct qemu_plugin_scoreboard *scores;
	struct qemu_plugin_register *regs[REG_MAX];
	atomic_uint	claimed;	/* CLAIM_* flags */
	atomic_bool	irq_due;
	bool		icount;
	pthread_mutex_t	claim_lock;
	bool		exiting;
	bool		incomplete;	/* an output file of the run is not complete */
	bool		has_hcontext, has_scontext;
	bool		strict_access;	/* an access that is not 32 bits wide and aligned faults */
	bool		incoherent;	/* harts must invalidate their caches to see what sinks wrote */
	uint64_t	cached_from;	/* start of the memory whose cache lines a reset drops */
	uint64_t	cached_size;	/* size in bytes of the memory at @cached_from; 0 if there is none */
	bool		latency;	/* measure how long harts keep interrupts off */
	bool		deep_idle;	/* harts and trace components may lose their power */
	bool		debugger;	/* the board emulates a debugger that traces from reset */
	bool		reset_lost;	/* trace components have no power during a reset */
	uint32_t	check_minstret;	/* number of instructions between two checks of minstret; 0 means no checks */
	uint64_t	limit;		/* number of instructions of a hart that end the run; 0 means no limit */
	uint32_t	stall_limit;	/* time in ms that a hart may stall before the run ends */
	uint32_t	bus_ratio;	/* bus clock ticks per tick of the time CSR */
	uint32_t	pace;		/* maximum number of a hart's instructions per millisecond; 0 means no limit */
	struct nb_te_caps te_caps;
	struct nb_ram_caps ram_caps;
	struct nb_funnel_caps funnel_caps;
	struct nb_faults faults;
	uint32_t	active_delay, enable_delay, ts_active_delay, empty_delay, undef;
	uint32_t	boot_control, boot_features, boot_privileges, boot_sifive;
	bool		boot_timestamp, truth_stacks, truth_traced;
	const char	*topology, *truth, *boot_trace, *stats;
	uint64_t	reports[NB_REPORT_MAX];
};
extern struct board board;

/* Functions of run.c, which prints messages and ends the run */
void board_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void board_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void board_end(struct hart *h) __attribute__((noreturn));
void board_incomplete(const char *whose, const char *what);
void board_power_off(struct hart *h);
void board_at_exit(void *opaque);

/* Functions of guest.c, which accesses the guest's registers and memory */
bool guest_has_reg(unsigned int reg);
enum nb_priv guest_trapped_priv(enum nb_priv now);
void guest_find_registers(void);
uint64_t board_reg_read(unsigned int reg);
uint64_t board_time(void);
void board_reg_write(unsigned int reg, uint64_t value);
bool board_mem_read(uint64_t addr, void *to, size_t len);
bool board_mem_write(uint64_t addr, const void *from, size_t len);

/* Functions of options.c, which parses the options of the plugin */
void options_parse(int argc, char **argv);

/* Functions of topology.c, which creates and connects the components */
void topology_build(void);
struct board_dev *topology_find(uint64_t addr);
void topology_drain(void);
bool topology_is_used(const struct board_dev *dev);
void topology_raise(void);

/* Functions of topology-list.c, which reads the list of the components */
void topology_read_list(void);

/* Functions of topology-run.c, which starts a boot trace, and reports the components at the end of the run */
void topology_boot_trace(void);
void topology_close(void);
void topology_report(FILE *f);

/* Functions of memory.c, which writes the data of sinks */
bool memory_sink_write(void *dev, uint64_t addr, const uint8_t *bytes, size_t len);
bool memory_sink_read(void *dev, uint64_t addr, uint8_t *bytes, size_t len);
bool memory_boot_trace_out(void *dev, const uint8_t *bytes, size_t len);
bool memory_boot_trace_frame(void *opaque, const uint8_t frame[16]);
bool memory_boot_trace_atb(void *opaque, const uint8_t *bytes, size_t len);
void memory_boot_trace_flush(struct board_dev *dev);
void memory_sync(void);

/* Functions of cache.c, which emulates caches */
bool cache_write(uint64_t addr, const uint8_t *bytes, size_t len);
void cache_reset(unsigned int vcpu, void *opaque);
bool cache_is_operation(uint32_t opcode);
void cache_instrument(struct qemu_plugin_insn *insn, uint32_t opcode);

/* Functions of csr.c, which emulates scontext and hcontext */
bool csr_new_value(uint32_t opcode, uint64_t old, uint64_t *value);
bool csr_instrument(struct qemu_plugin_insn *insn, uint32_t opcode, uint64_t pc);
void csr_reset(struct hart *h);

/* Functions of power.c, which emulates harts and components without power */
void power_make(struct board_dev *dev);
void power_cut(void);
void power_reset(struct hart *h);
bool power_is_on(const struct board_dev *dev);
void power_instrument(struct qemu_plugin_insn *insn, uint32_t opcode);

/* Functions of latency.c, which measures times with interrupts off */
void latency_access(struct hart *h, bool store);
void latency_trap(struct hart *h, uint64_t to);
void latency_instrument(struct qemu_plugin_insn *insn, uint32_t opcode);
void latency_report(FILE *f);

/* Functions of mmio.c, which executes accesses to registers of components */
bool mmio_fault(struct hart *h, uint64_t epc);
bool mmio_step(struct hart *h);
void mmio_reset(struct hart *h);
bool mmio_translate(uint64_t va, uint64_t *pa);

/* Functions of stream.c, which reports executed blocks to the encoder and the truth file */
void stream_tb_trans(struct qemu_plugin_tb *tb, void *opaque);
void stream_discon(unsigned int vcpu, enum qemu_plugin_discon_type type, uint64_t from, uint64_t to,
		   void *opaque);
void stream_flush(void *opaque);
void stream_gate(struct hart *h, bool on);
void stream_emit(struct hart *h, uint64_t addr, uint32_t half_words, uint32_t opcode);

/* Functions of claim.c, which gives a hart exclusive access to the components */
void board_claim_init(void);
void board_wait_claim(struct hart *h);
void board_claim(struct hart *self);
void board_release(struct hart *self);

/*
 * Enter the hart. Return false if another hart has claimed the components or an interrupt must be raised, so that the
 * caller must call hart_wait() before it does anything else.
 */
static inline __attribute__((warn_unused_result)) bool hart_enter(struct hart *h)
{
	h->busy = 1;
	/*
	 * This function needs no memory barrier for the processor, because board_claim() calls membarrier(),
	 * with which the kernel executes a barrier in all threads, after it has set board.claimed, and before it
	 * reads hart::busy.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	return !atomic_load_explicit(&board.claimed, memory_order_relaxed);
}

static inline void hart_wait(struct hart *h)
{
	if (NB_UNLIKELY(atomic_load_explicit(&board.claimed, memory_order_relaxed)))
		board_wait_claim(h);
}

/* Enter the hart. If another hart has claimed the components (board_claim()), wait until it has released them. */
static inline void hart_enter_wait(struct hart *h)
{
	if (!hart_enter(h))
		hart_wait(h);
}

static inline void hart_leave(struct hart *h)
{
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&h->busy, 0, __ATOMIC_RELEASE);
}

#endif /* NTRACE_BOARD_BOARD_H */
