// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judge the calls of recordings by the stack pointers that the board wrote into the truth.
 *
 *	judge-calls TRUTH ELF LIST [ELF LIST]...
 *
 * TRUTH is from a board with one hart and truth-stacks=on. ELF is a static program with symbols, and LIST has the
 * calls that list-calls found in the recording of this program. User code of the recorder is ignored. The caller adds
 * the line "kernel" to LIST if the event of the recording selects the kernel, so that its calls are expected.
 * "missing FROM TO" in LIST is an address range whose code the recording lacks. If the program has no function in this
 * range, no reader can know how many instructions executed there. Therefore positions do not count these instructions,
 * and calls inside the range are ignored.
 *
 * A call with stack pointer S and return address R has ended if one of these is true:
 *
 *	The PC is R and the stack pointer is S.
 *	The stack pointer of the same stack has risen above S.
 *	A jump from another function goes into the middle of the function that made the call, and the stack pointer
 *	is S. A jump to any other address is a tail call, which belongs to the call that it replaces.
 *
 * A signal handler has also ended if it has called rt_sigreturn() and the kernel then starts another function. This
 * function is a handler that interrupts the same instruction as the ended one.
 *
 * A call that saves its return address R in t0 ends if the PC is R. A trap or a signal handler is treated as a call
 * from the interrupted instruction. If the reader marks a call as open although the call has ended, this program
 * counts the call as "marked" and not as "wrong".
 *
 * Each stack of a thread has its own calls. While the thread only adds numbers to the stack pointer, it stays on one
 * stack. An instruction that loads the stack pointer may switch to another stack, and so may the kernel. If the stack
 * pointers between two such switches overlap those between two others, they belong to the same stack. If a handler or a
 * called function uses another stack than its caller, its calls belong to the stack of the caller. If a call through t0
 * ends on another stack, the program has moved the stack, with the stack pointers of all open calls.
 *
 * This program has no other rules about calls, and shares no code with the library that it judges.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#define SIGNAL_FRAME	4096		/* maximum number of bytes that the kernel stores on the stack for a signal */
#define KERNEL_STACK	14		/* log2 of the size of a kernel stack, which is also its alignment */
#define KERNEL		(1ULL << 63)
#define LI_A7_SIGRETURN	0x08b00893	/* "li a7, 139", the last instruction before the ecall of rt_sigreturn() */
#define SHOWN		12

#define ARRAY(type)	struct { type *at; size_t nr, room; }

static void *grow(void *at, size_t *room, size_t size)
{
	*room = *room ? 2 * *room : 16;
	at = realloc(at, *room * size);
	if (at)
		return at;
	fprintf(stderr, "judge-calls: out of memory\n");
	exit(2);
}

/* Add an element to the array, and return it. */
#define ADD(array) ((array)->nr == (array)->room ? \
	(void)((array)->at = grow((array)->at, &(array)->room, sizeof(*(array)->at))) : (void)0, \
	&(array)->at[(array)->nr++])

/* A call. The unit of positions is an instruction of the call's thread. */
struct call {
	int32_t		tid;
	bool		open, outer;	/* @open if the end is not traced, @outer if the start is not traced */
	uint64_t	begin, end, self;
	uint64_t	parent;		/* 1 + start of the caller on the same stack, or 0 without a caller */
	uint64_t	to;
};

struct frame {
	uint64_t	sp, ret, site;	/* @site is the address of the call or of the interrupted instruction */
	uint64_t	begin, self, parent, to;
	uint64_t	stack;		/* lowest address of the stack that contains @sp */
	bool		any_sp;		/* the call ends at any @sp, because its return address is in t0 */
	bool		trap;
	bool		handler;	/* a signal handler or a trap */
	size_t		alias;		/* 1 + index of the called function's stack if it is not the caller's, or 0 */
};

/* Calls from one stack, including calls of handlers and functions that switch to another stack */
struct calls {
	uint64_t	last;		/* position at which the thread last used the stack */
	ARRAY(struct frame) open;
};

struct stack {
	uint64_t	from, to;
	size_t		calls, own;	/* indices in thread::calls; a call from another stack changes @calls */
};

/* Lowest and highest stack pointer between two possible switches of stacks */
struct stay {
	uint64_t	from, to;
};

struct range {
	uint64_t	from, to;
	char		name[64];
};

struct program {
	const char	*list;
	bool		kernel;
	uint64_t	entry;
	bool		started;	/* a thread has executed the instruction at @entry */
	ARRAY(struct range) functions, missing;
	size_t		judged, wrong, marked;
};

struct thread {
	int32_t		tid;
	struct program	*program;
	ARRAY(struct stay) stays;
	uint64_t	last_sp;	/* last stack pointer of user code in the first pass, before find_stacks() */
	bool		may_switch;	/* the last block has loaded the stack pointer, or the kernel has run */
	ARRAY(struct stack) stacks;
	ARRAY(struct calls) calls;
	size_t		cur;		/* index of the current stack in @calls */
	struct stack	*on;		/* stack that user code has used last, or NULL */
	uint64_t	at;
	/* position at which the thread starts the program, after the code of the recorder, or UINT64_MAX */
	uint64_t	from;
	bool		running;	/* the following members describe the thread's last block */
	bool		trapped;
	bool		sigreturn;	/* the last user code has called rt_sigreturn() */
	uint64_t	fault_pc;	/* address of an instruction that trapped after a jump to it, or 0 */
	uint64_t	end, site, trap_pc, trap_sp;
	uint32_t	insn;
	uint8_t		itype, priv, fault_priv;	/* @fault_priv is the mode of the instruction at @fault_pc */
};

static ARRAY(struct thread) threads;
static ARRAY(struct call) wanted, found;

static struct thread *thread_of(int32_t tid)
{
	static int32_t last;		/* @tid of the previous call of thread_of() */
	static size_t nr;		/* number of threads at the previous call of thread_of() */
	static size_t found;		/* 1 + index of the thread that the previous call found; 0: none */

	if (tid == last && nr == threads.nr)
		return found ? &threads.at[found - 1] : NULL;
	last = tid;
	nr = threads.nr;
	for (found = nr; found && threads.at[found - 1].tid != tid;)
		found--;
	return found ? &threads.at[found - 1] : NULL;
}

/* ---- Functions of the program ---- */

static void add_functions(struct program *p, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	struct range *r;
	GElf_Sym sym;
	const char *name;
	char *cold;
	size_t i;

	for (i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		r = ADD(&p->functions);
		*r = (struct range){ .from = sym.st_value, .to = sym.st_value + sym.st_size };
		snprintf(r->name, sizeof(r->name), "%s", name ? name : "");
		/* The symbol "NAME.cold" has unlikely code of the function NAME, so give both the same name */
		cold = strstr(r->name, ".cold");
		if (cold)
			*cold = '\0';
	}
}

static bool read_elf(struct program *p, const char *path)
{
	int fd = open(path, O_RDONLY);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && gelf_getehdr(elf, &eh))
		p->entry = eh.e_entry;
	while (elf && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			add_functions(p, elf, scn, &sh);
	}
	elf_end(elf);
	close(fd);
	return p->entry;
}

/* Return the largest function that contains @pc, because labels inside a function can also have a size. */
static const struct range *function_at(const struct program *p, uint64_t pc)
{
	const struct range *best = NULL, *r = p->functions.at;

	for (; r < p->functions.at + p->functions.nr; r++) {
		if (pc >= r->from && pc < r->to && (!best || r->to - r->from > best->to - best->from))
			best = r;
	}
	return best;
}

static bool same_function(const struct program *p, uint64_t a, uint64_t b)
{
	const struct range *x = function_at(p, a), *y = function_at(p, b);

	return x && y && (x == y || !strcmp(x->name, y->name));
}

static bool is_missing(const struct program *p, uint64_t pc)
{
	size_t i;

	for (i = 0; i < p->missing.nr; i++) {
		if (pc >= p->missing.at[i].from && pc < p->missing.at[i].to)
			return !function_at(p, pc);
	}
	return false;
}

/* ---- Stacks ---- */

/* Return true if the instruction writes the stack pointer, and not by adding to it or by subtracting from it. */
static bool loads_sp(uint32_t insn)
{
	unsigned int opcode = insn & 0x7f, rd = insn >> 7 & 31, rs1 = insn >> 15 & 31, funct = insn >> 13 & 7;

	if (rd != 2)
		return false;
	switch (insn & 3) {
	case 1:		/* c.li. The others, c.addi and c.addi16sp, add to the stack pointer */
		return funct == 2;
	case 2:		/* c.ldsp and c.mv, but not c.add, which adds */
		return funct == 3 || (funct == 4 && !(insn & 1 << 12) && insn & 31 << 2);
	case 3:		/* a load, lui, auipc, a CSR instruction, or an operation on other registers */
		return opcode == 0x03 || opcode == 0x37 || opcode == 0x17 || (opcode == 0x73 && insn >> 12 & 7) ||
		       ((opcode == 0x13 || opcode == 0x33) && rs1 != 2 && (opcode == 0x13 || (insn >> 20 & 31) != 2));
	}
	return false;
}

static bool block_loads_sp(const struct nb_ingress *b)
{
	unsigned int half = 0;
	uint32_t insn;

	while (b->code && half < b->iretire) {
		insn = b->code[2 * half] | b->code[2 * half + 1] << 8;
		if ((insn & 3) == 3)
			insn |= b->code[2 * half + 2] << 16 | (uint32_t)b->code[2 * half + 3] << 24;
		if (loads_sp(insn))
			return true;
		half += (insn & 3) == 3 ? 2 : 1;
	}
	return false;
}

/* Note the user's stack pointer at the start of a block. The kernel still has this stack pointer in its first block. */
static void note_sp(struct thread *t, const struct nb_ingress *b, uint64_t sp)
{
	struct stay *stay = t->stays.nr ? &t->stays.at[t->stays.nr - 1] : NULL;
	bool user = b->priv == NB_PRIV_U;

	if (sp && sp < KERNEL && (user || !t->may_switch)) {
		/* a signal handler can use the stack that it interrupts */
		if (!stay || (t->may_switch && (sp < stay->from || sp > stay->to) &&
			      (sp > t->last_sp || t->last_sp - sp > SIGNAL_FRAME))) {
			stay = ADD(&t->stays);
			*stay = (struct stay){ .from = sp, .to = sp };
		}
		stay->from = sp < stay->from ? sp : stay->from;
		stay->to = sp > stay->to ? sp : stay->to;
		t->last_sp = sp;
		t->may_switch = false;
	}
	t->may_switch |= !user || block_loads_sp(b);
}

static int stay_cmp(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Make one stack from each group of stays (ranges of stack pointers) that overlap. */
static void find_stacks(struct thread *t)
{
	const struct stay *stay;
	struct stack *s = NULL;

	if (t->stays.nr)
		qsort(t->stays.at, t->stays.nr, sizeof(*t->stays.at), stay_cmp);
	for (stay = t->stays.at; stay < t->stays.at + t->stays.nr; stay++) {
		if (!s || stay->from > s->to) {
			s = ADD(&t->stacks);
			*s = (struct stack){ .from = stay->from, .own = t->calls.nr, .calls = t->calls.nr };
			*ADD(&t->calls) = (struct calls){ 0 };
		}
		s->to = stay->to > s->to ? stay->to : s->to;
	}
	if (!t->calls.nr)
		*ADD(&t->calls) = (struct calls){ 0 };
}

static struct stack *stack_at(struct thread *t, uint64_t sp)
{
	size_t i;

	for (i = 0; sp < KERNEL && i < t->stacks.nr; i++) {
		if (sp >= t->stacks.at[i].from && sp <= t->stacks.at[i].to)
			return &t->stacks.at[i];
	}
	return NULL;
}

static uint64_t stack_start(struct thread *t, uint64_t sp)
{
	const struct stack *s = stack_at(t, sp);

	return s ? s->from : sp >> KERNEL_STACK;
}

/* ---- Start and end of calls, by the rules at the top of this file ---- */

static void close_call(struct thread *t, struct calls *c, bool open)
{
	const struct frame f = c->open.at[--c->open.nr];

	/* expect no call without instructions, such as a handler that was interrupted before its first instruction */
	if (t->at == f.begin)
		return;
	*ADD(&wanted) = (struct call){
		.tid = t->tid, .begin = f.begin, .end = open ? c->last : t->at, .self = f.self, .parent = f.parent, .to = f.to,
		.open = open,
	};
}

/* Return the register to which the last instruction saves the return address. A compressed call uses ra. */
static unsigned int link_register(const struct thread *t)
{
	return (t->insn & 3) == 3 ? t->insn >> 7 & 31 : 1;
}

/*
 * Return true if the last instruction is a call of @pc. The jalr of a PLT entry links t1, and is not a call, because no
 * function returns to t1.
 * A jump between two link registers is a call if a function starts at @pc. Programs of Go have calls of this kind.
 */
static bool is_call(const struct thread *t, uint64_t pc)
{
	const struct range *to;

	if (link_register(t) != 1 && link_register(t) != 5)
		return false;
	to = t->itype == NB_ITYPE_SWAP ? function_at(t->program, pc) : NULL;
	return t->itype == NB_ITYPE_DIRECT_CALL || t->itype == NB_ITYPE_INDIRECT_CALL ||
	       t->itype == NB_ITYPE_OTHER_DIRECT || t->itype == NB_ITYPE_OTHER_INDIRECT || (to && to->from == pc);
}

static bool is_landing(const struct thread *t, const struct frame *f, uint64_t pc)
{
	const struct range *to = function_at(t->program, pc);

	return to && pc != to->from && !t->trapped && same_function(t->program, pc, f->site) &&
	       !same_function(t->program, pc, t->site);
}

static bool has_ended(struct thread *t, const struct frame *f, bool may_land, uint64_t pc, uint64_t sp)
{
	if (f->stack != stack_start(t, sp))
		return false;
	if (sp > f->sp || (f->any_sp && pc == f->ret))
		return true;
	if (f->any_sp || sp != f->sp)
		return false;
	/*
	 * The kernel continues after an ecall. If the kernel repairs a fault in its own code, it continues at another
	 * address.
	 */
	return pc == f->ret || (f->handler && pc == f->ret + 4) || (f->trap && t->trapped) ||
	       (may_land && is_landing(t, f, pc));
}

/* End the calls that have ended by the rules at the top of this file. Return their number. */
static size_t end_calls(struct thread *t, struct calls *c, uint64_t pc, uint64_t sp)
{
	size_t i = c->open.nr, last = i, ended;
	uint64_t stack = stack_start(t, sp);
	bool returns = false;

	while (i--) {
		if (has_ended(t, &c->open.at[i], !returns, pc, sp))
			last = i;
		else if (c->open.at[i].stack == stack)
			break;
		returns |= last == i && pc == c->open.at[i].ret;
	}
	ended = c->open.nr - last;
	while (c->open.nr > last)
		close_call(t, c, false);
	return ended;
}

static struct frame *open_call(struct thread *t, struct calls *c, struct frame f)
{
	struct frame *frame;

	f.begin = t->at;
	f.parent = c->open.nr ? c->open.at[c->open.nr - 1].begin + 1 : 0;
	f.stack = stack_start(t, f.sp);
	frame = ADD(&c->open);
	*frame = f;
	return frame;
}

/* If a function that uses the stack pointer @sp is called on another stack, add its calls to those of that stack. */
static void use_stack(struct thread *t, struct frame *f, uint64_t sp)
{
	struct stack *other = stack_at(t, sp);

	if (!other || other->calls == t->cur)
		return;
	f->alias = other - t->stacks.at + 1;
	other->calls = t->cur;
}

/* Undo use_stack() if the call has ended. */
static void leave_stack(struct thread *t, struct stack *s)
{
	const struct calls *c = &t->calls.at[s->calls];
	size_t i = c->open.nr;

	while (i && c->open.at[i - 1].alias != s - t->stacks.at + 1U)
		i--;
	if (!i)
		s->calls = s->own;
}

/*
 * If an open call of the current stack was made through t0 and ends at @pc on the stack @to, the program has moved the
 * current stack to @to. Move its open calls.
 */
static void move_stack(struct thread *t, struct stack *to, uint64_t pc, uint64_t sp)
{
	struct calls *c = &t->calls.at[t->cur], *moved = to ? &t->calls.at[to->own] : NULL, old;
	const struct frame *top = moved && moved->open.nr ? &moved->open.at[moved->open.nr - 1] : NULL;
	size_t i = c->open.nr;
	uint64_t from, by;

	if (!to || to->calls == t->cur || (top && top->ret == pc && top->sp == sp))
		return;
	while (i && !(c->open.at[i - 1].any_sp && c->open.at[i - 1].ret == pc))
		i--;
	if (!i)
		return;
	from = c->open.at[i - 1].stack;
	by = sp - c->open.at[i - 1].sp;
	while (moved->open.nr)
		close_call(t, moved, true);
	for (i = 0; i < c->open.nr; i++) {
		if (c->open.at[i].stack != from)
			continue;
		c->open.at[i].stack = to->from;
		c->open.at[i].sp += by;
	}
	old = *moved;
	*moved = *c;
	*c = old;
	to->calls = to->own;
}

static void drop_all(struct thread *t)
{
	size_t i;

	for (i = 0; i < t->calls.nr; i++) {
		while (t->calls.at[i].open.nr)
			close_call(t, &t->calls.at[i], true);
	}
}

/* Start a call of a signal handler or a trap handler, whose first instruction is at @pc. */
static void interrupt(struct thread *t, uint64_t pc, uint64_t sp, bool trap)
{
	struct frame *f = open_call(t, &t->calls.at[t->cur], (struct frame){
		.sp = t->trap_sp, .ret = t->trap_pc, .site = t->trap_pc, .to = pc, .handler = true, .trap = trap,
	});

	if (!trap && stack_at(t, sp) != stack_at(t, t->trap_sp))
		use_stack(t, f, sp);
}

/*
 * The newest signal handler has called rt_sigreturn(). End it, unless the program continues at the instruction that it
 * interrupted. Set trap_pc and trap_sp to those of this instruction.
 */
static void end_handler(struct thread *t, struct calls *c, uint64_t pc, uint64_t sp)
{
	size_t i = c->open.nr;

	while (i && !(c->open.at[i - 1].handler && !c->open.at[i - 1].trap))
		i--;
	if (!i || (c->open.at[i - 1].ret == pc && c->open.at[i - 1].sp == sp))
		return;
	t->trap_pc = c->open.at[i - 1].ret;
	t->trap_sp = c->open.at[i - 1].sp;
	while (c->open.nr >= i)
		close_call(t, c, false);
}

/* The kernel resumes the program at trap_pc, which is the address of the interrupted instruction. */
static void resume(struct thread *t, uint64_t pc, uint64_t sp)
{
	struct calls *c = &t->calls.at[t->cur];
	struct stack *s = stack_at(t, sp);
	const struct range *to = function_at(t->program, pc);

	while (t->program->kernel && c->open.nr && t->priv != NB_PRIV_U) {
		t->trap_pc = c->open.at[c->open.nr - 1].ret;
		t->trap_sp = c->open.at[c->open.nr - 1].sp;
		if (c->open.at[c->open.nr - 1].trap && t->trap_sp < KERNEL) {
			close_call(t, c, false);
			break;
		}
		close_call(t, c, false);
	}
	if (sp == t->trap_sp && (pc == t->trap_pc || pc == t->trap_pc + 4))
		return;
	if (t->sigreturn && to && to->from == pc)
		end_handler(t, c, pc, sp);
	if (pc == t->program->entry)
		drop_all(t);
	else if (t->on && (!s || !end_calls(t, &t->calls.at[s->calls], pc, sp)))
		/* a thread that has not executed user code before is a child that returns from fork() */
		interrupt(t, pc, sp, false);
}

static void arrive(struct thread *t, uint64_t pc, uint64_t sp, uint8_t priv)
{
	struct stack *s = priv == NB_PRIV_U ? stack_at(t, sp) : NULL;

	if (!t->running) {
		t->running = true;
	} else if (t->trapped && priv == NB_PRIV_U) {
		resume(t, pc, sp);
	} else if (t->trapped && t->itype != NB_ITYPE_TRAP_RETURN) {
		t->trap_sp = sp;
		if (pc != t->trap_pc && pc != t->trap_pc + 4)
			interrupt(t, pc, sp, true);
	} else if (is_call(t, pc)) {
		/* a call of the next instruction only reads the program counter, and is not a function call */
		if (pc != t->end && !(is_missing(t->program, pc) && is_missing(t->program, t->site)))
			use_stack(t, open_call(t, &t->calls.at[t->cur], (struct frame){
				.sp = sp, .ret = t->end, .site = t->site, .to = pc, .any_sp = link_register(t) == 5,
			}), priv == NB_PRIV_U ? sp : 0);
	} else {
		move_stack(t, s, pc, sp);
		end_calls(t, &t->calls.at[s ? s->calls : t->cur], pc, sp);
	}
	t->trapped = false;
	if (!s)
		return;
	if (t->on && t->on != s)
		leave_stack(t, t->on);
	t->on = s;
	t->cur = s->calls;
}

static uint32_t last_insn(const struct nb_ingress *b)
{
	uint32_t insn = 0;

	if (b->code && b->ninsn)
		memcpy(&insn, b->code + 2 * (b->iretire - b->ilastsize), 2 * b->ilastsize);
	return insn;
}

/* Set the stack pointer before a fault. The trace has the stack pointer at the instruction that did not execute. */
static void end_fault(struct thread *t, uint64_t sp)
{
	if (t->fault_pc) {
		arrive(t, t->fault_pc, sp, t->fault_priv);
		t->trapped = true;
		t->itype = NB_ITYPE_EXCEPTION;
		t->trap_pc = t->fault_pc;
	}
	t->fault_pc = 0;
}

static void take_block(struct thread *t, const struct nb_ingress *b, uint64_t sp)
{
	uint32_t insns = is_missing(t->program, b->iaddr) ? 0 : b->ninsn;
	struct calls *c;

	if (!b->ninsn && !sp) {
		t->fault_pc = b->iaddr;
		t->fault_priv = b->priv;
		return;
	}
	end_fault(t, sp);
	if (sp || t->trapped)
		arrive(t, b->iaddr, sp, b->priv);
	c = &t->calls.at[t->cur];
	if (c->open.nr)
		c->open.at[c->open.nr - 1].self += insns;
	t->at += insns;
	c->last = t->at;
	t->priv = b->priv;
	t->end = b->iaddr + 2 * b->iretire;
	t->site = b->ninsn ? t->end - 2 * b->ilastsize : b->iaddr;
	t->insn = last_insn(b);
	if (b->priv == NB_PRIV_U && b->ninsn)
		t->sigreturn = t->insn == LI_A7_SIGRETURN;
	t->itype = b->itype;
	t->trapped = b->itype == NB_ITYPE_EXCEPTION || b->itype == NB_ITYPE_INTERRUPT ||
		     b->itype == NB_ITYPE_TRAP_RETURN;
	if (b->itype != NB_ITYPE_TRAP_RETURN)
		t->trap_pc = t->end;
}

/* ---- The truth ---- */

struct place {
	uint64_t	context, task;	/* id of the next thread, and the kernel's pointer to the running one */
	int32_t		tid;		/* id of the running thread */
	bool		user;		/* the last block was user code */
};

/* Detect which thread runs. The kernel writes the next thread's id before the kernel switches to this thread. */
static void follow(struct place *p, const struct nb_ingress *b, uint64_t tp)
{
	if (b->priv == NB_PRIV_U) {
		p->tid = p->context;
	} else if (tp >= KERNEL && tp != p->task) {
		p->task = tp;
		p->tid = p->context;
	}
}

/* Find the exec by which the recorder starts the program. The thread then executes the program's first instruction. */
static void find_start(struct thread *t, uint64_t pc)
{
	struct program *p = t->program;

	p->started |= pc == p->entry;
	if (!p->started)
		t->from = UINT64_MAX;
	else if (t->from == UINT64_MAX && pc == p->entry)
		t->from = t->at;
}

static void take(struct place *p, const struct nb_truth_event *ev, const struct nb_truth_event *stack, bool judge)
{
	const struct nb_ingress *b = &ev->blk;
	uint64_t sp = stack->sp;
	bool user = b->priv == NB_PRIV_U;
	struct thread *t;

	follow(p, b, stack->tp);
	t = thread_of(p->tid);
	if (t && !judge)
		note_sp(t, b, sp);
	if (t && p->user && !user && judge) {
		end_fault(t, sp);
		t->trap_sp = sp;
	}
	if (t && judge && user && !p->user)
		find_start(t, b->iaddr);
	p->user = user;
	if (!t || (!user && !(t->program->kernel && b->priv == NB_PRIV_S)))
		return;
	if (judge && ev->traced)
		take_block(t, b, sp);
	else
		t->running = t->trapped = false;
}

/* A truth file, and the next block of executed instructions in it */
struct source {
	struct nb_truth_reader *reader;
	struct nb_truth_event ev, stack;
	struct place	place;
	unsigned int	hart;
	uint64_t	time;		/* the last time in the file before the block */
	int		state;		/* result of nb_truth_next() */
};

static void next_block(struct source *s)
{
	s->stack.sp = s->stack.tp = 0;
	while ((s->state = nb_truth_next(s->reader, &s->ev)) > 0 && s->ev.kind != NB_TRUTH_BLOCK) {
		if (s->ev.kind == NB_TRUTH_CONTEXT)
			s->place.context = s->ev.scontext;
		if (s->ev.kind == NB_TRUTH_STACK)
			s->stack = s->ev;
		if (s->ev.kind == NB_TRUTH_TIME)
			s->time = s->ev.time;
	}
}

static struct source *earliest(struct source *sources, size_t nr)
{
	struct source *s, *first = NULL;

	for (s = sources; s < sources + nr; s++) {
		if (s->state > 0 && (!first || s->time < first->time))
			first = s;
	}
	return first;
}

/*
 * Read the truth of up to 8 harts in the order of time. After each block in which a thread ran, call @each if it is not
 * NULL. Return false if a file is missing or damaged.
 */
static bool read_truth(char **paths, size_t nr, bool judge, void (*each)(const struct thread *t, const struct source *s))
{
	struct source sources[8] = { 0 }, *s;
	const struct thread *t;
	bool ok = nr <= 8;
	size_t i;

	for (i = 0; ok && i < nr; i++) {
		sources[i].reader = nb_truth_open(paths[i], &sources[i].hart);
		ok = sources[i].reader;
		if (ok)
			next_block(&sources[i]);
	}
	while (ok && (s = earliest(sources, nr))) {
		take(&s->place, &s->ev, &s->stack, judge);
		t = each ? thread_of(s->place.tid) : NULL;
		if (t)
			each(t, s);
		next_block(s);
	}
	for (i = 0; i < nr && i < 8 && sources[i].reader; i++) {
		nb_truth_reader_close(sources[i].reader);
		ok = ok && !sources[i].state;
	}
	return ok;
}

/* ---- The calls that ntrace found ---- */

static bool read_list(struct program *p)
{
	FILE *file = fopen(p->list, "r");
	struct thread *t;
	struct range range = { 0 };
	char line[256], mark[16];
	struct call c = { 0 };

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		p->kernel |= !strcmp(line, "kernel\n");
		if (sscanf(line, "missing %" SCNx64 " %" SCNx64, &range.from, &range.to) == 2)
			*ADD(&p->missing) = range;
		if (sscanf(line, "%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %15s", &c.tid, &c.begin, &c.end,
			   &c.self, &c.parent, mark) != 6)
			continue;
		c.open = !strcmp(mark, "open");
		c.outer = !strcmp(mark, "outer");
		if (!thread_of(c.tid)) {
			t = ADD(&threads);
			*t = (struct thread){ .tid = c.tid, .program = p };
		}
		if (!c.outer)
			*ADD(&found) = c;
	}
	fclose(file);
	return true;
}

/* ---- The comparison of expected calls with the calls that ntrace found ---- */

static int call_cmp(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	/* if all code between two calls is missing, the calls have equal positions, and the caller is sorted first */
	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static void show(const char *what, const struct call *c)
{
	printf("  %s thread %d, %" PRIu64 " to %" PRIu64 "%s, self %" PRIu64 ", caller's begin %" PRId64 ", at 0x%"
	       PRIx64 "\n", what, c->tid, c->begin, c->end, c->open ? " (open)" : "", c->self,
	       (int64_t)c->parent - 1, c->to);
}

static bool is_same(const struct call *x, const struct call *y)
{
	return !call_cmp(x, y) && x->self == y->self && x->open == y->open && x->parent == y->parent;
}

static void compare(void)
{
	const struct call *w = wanted.at, *w_end = w + wanted.nr, *f = found.at, *f_end = f + found.nr;
	struct program *p;
	int order;

	while (w < w_end || f < f_end) {
		if (w < w_end && w->begin < thread_of(w->tid)->from) {
			w++;
			continue;
		}
		if (f < f_end && f->begin < thread_of(f->tid)->from) {
			f++;
			continue;
		}
		order = w == w_end ? 1 : f == f_end ? -1 : w->tid != f->tid ? w->tid - f->tid :
			w->begin != f->begin ? (w->begin < f->begin ? -1 : 1) : 0;
		p = thread_of(order <= 0 ? w->tid : f->tid)->program;
		p->judged += order <= 0;
		if (!order && f->open && !w->open)
			p->marked++;
		else if ((order || !is_same(w, f)) && p->wrong++ < SHOWN) {
			printf("%s:\n", p->list);
			if (order <= 0)
				show("happened ", w);
			if (order >= 0)
				show("was found", f);
		}
		w += order <= 0;
		f += order >= 0;
	}
}

int main(int argc, char **argv)
{
	struct program *programs = calloc(argc, sizeof(*programs));
	int i, nr = (argc - 2) / 2, wrong = 0;

	if (!programs || argc < 4)
		return 2;
	for (i = 0; i < nr; i++) {
		programs[i].list = argv[2 * i + 3];
		if (read_elf(&programs[i], argv[2 * i + 2]) && read_list(&programs[i]))
			continue;
		fprintf(stderr, "judge-calls: cannot read %s or %s\n", argv[2 * i + 2], programs[i].list);
		return 2;
	}
	if (!read_truth(&argv[1], 1, false, NULL))
		return 2;
	for (i = 0; i < (int)threads.nr; i++) {
		find_stacks(&threads.at[i]);
		threads.at[i].trap_sp = 0;
	}
	if (!read_truth(&argv[1], 1, true, NULL))
		return 2;
	for (i = 0; i < (int)threads.nr; i++)
		drop_all(&threads.at[i]);
	if (wanted.nr)
		qsort(wanted.at, wanted.nr, sizeof(*wanted.at), call_cmp);
	if (found.nr)
		qsort(found.at, found.nr, sizeof(*found.at), call_cmp);
	compare();
	for (i = 0; i < nr; i++) {
		printf("%s: %zu calls, %zu marked, %zu wrong\n", programs[i].list, programs[i].judged,
		       programs[i].marked, programs[i].wrong);
		wrong |= programs[i].wrong || !programs[i].judged;
	}
	return wrong;
}
