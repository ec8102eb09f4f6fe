// SPDX-License-Identifier: GPL-2.0-only
/* Reply to packets that set breakpoints, continue or step in both directions. */
#include <stdlib.h>
#include <string.h>

#include "stub.h"

#define SIGTRAP_GDB	5	/* numbers that signals have in gdb's protocol */
#define SIGINT_GDB	2
#define SIGLOST_GDB	29

/* ---- Stops ---- */

/* Return true if the client does not know the files that are loaded in an address space. */
static bool has_other_files(const struct stub *stub, uint64_t space)
{
	int files = nt_replay_files(stub->replay, space);

	return files >= 0 && files != stub->list;
}

static void reply_stop(struct stub *stub, const struct nt_replay_place *place, const struct stub_stop *stop)
{
	stub->tid = stub->stopped = stop->tid;
	stub->callers_tid = -1;
	reply_format(stub, "T%02xthread:p%x.%x;%s", stop->signal, stub->pid, stub_id(stub, stop->tid), stop->reason);
	if (place) {
		reply_format(stub, "core:%x;%x:", (uint32_t)place->cpu, STUB_REG_PC);
		reply_number(stub, place->addr, stub->xlen / 8);
		reply_text(stub, ";");
	}
}

/* Report a stop that makes the client read the list of files in an address space. The client then continues. */
static void reply_files(struct stub *stub, const struct nt_replay_place *place)
{
	stub->list = nt_replay_files(stub->replay, place->space);
	reply_stop(stub, place, &(struct stub_stop){ place->thread, SIGTRAP_GDB, "library:;" });
}

void run_stopped(struct stub *stub, int32_t tid, unsigned int sig, const char *reason)
{
	const struct stub_stop stop = { tid, sig, reason };
	struct nt_replay_place place;
	bool known = nt_replay_where(stub->replay, tid, &place);

	if (known && has_other_files(stub, place.space)) {
		stub->pending = stop;
		reply_files(stub, &place);
	} else {
		reply_stop(stub, known ? &place : NULL, &stop);
	}
}

/*
 * Report a stop at the current position.
 * @moved: Result of the move to this position, which is enum nt_replay_moved, or -1 if the move has failed
 * @tid: Thread of the stop, or -1 for the thread at the position
 */
static void stop_here(struct stub *stub, int moved, int32_t tid, bool backwards, const char *reason)
{
	struct nt_replay_place here = { .thread = stub->tid };

	nt_replay_here(stub->replay, &here);
	if (tid < 0)
		tid = here.thread;
	if (moved < 0) {
		stub_say(stub, "ntrace: the trace at this position cannot be decoded, because ntrace has too little memory or the recording was changed\n");
		run_stopped(stub, tid, SIGTRAP_GDB, "");
	} else if (moved == NT_REPLAY_END) {
		run_stopped(stub, tid, SIGTRAP_GDB, backwards ? "replaylog:begin;" : "replaylog:end;");
	} else if (moved == NT_REPLAY_GAP) {
		stub_say(stub, backwards ? "[trace is missing after this instruction]\n" :
					   "[trace is missing before this instruction]\n");
		run_stopped(stub, here.thread, SIGLOST_GDB, "");
	} else {
		run_stopped(stub, tid, SIGTRAP_GDB, reason);
	}
}

/* ---- Breakpoints ---- */

static struct stub_break *find_break(struct stub *stub, uint64_t addr)
{
	size_t i;

	for (i = 0; i < stub->breaks.nr; i++) {
		if (stub->breaks.at[i].addr == addr)
			return &stub->breaks.at[i];
	}
	return NULL;
}

static bool list_addresses(struct stub *stub)
{
	size_t i;

	stub->addrs.nr = 0;
	for (i = 0; i < stub->breaks.nr; i++) {
		if (!ns_array_add(&stub->addrs, stub->breaks.at[i].addr))
			return false;
	}
	return true;
}

/* Parse conditions of the form ";X", length, ",", bytes. Return false if a condition has another form. */
static bool take_conditions(struct stub_break *b, const char *at)
{
	uint64_t size, i;
	uint8_t byte;

	b->code.nr = 0;
	while (*at == ';')
		at++;
	while (*at == 'X') {
		at++;
		if (!packet_number(&at, &size) || *at++ != ',' || size > 4096 || strlen(at) < 2 * size)
			return false;
		if (!ns_array_add(&b->code, (uint8_t)(size >> 8)) || !ns_array_add(&b->code, (uint8_t)size))
			return false;
		for (i = 0; i < size; i++, at += 2) {
			char two[3] = { at[0], at[1] };

			if (packet_hex(two, &byte, 1) != 1 || !ns_array_add(&b->code, byte))
				return false;
		}
	}
	return !*at;
}

static void remove_break(struct stub *stub, struct stub_break *b)
{
	free(b->code.at);
	*b = stub->breaks.at[--stub->breaks.nr];
}

/* Insert a breakpoint, or change its conditions. */
static bool insert_break(struct stub *stub, uint64_t addr, uint8_t kind, const char *conditions)
{
	struct stub_break *b = find_break(stub, addr);

	if (!b) {
		if (!ns_array_add(&stub->breaks, ((struct stub_break){ .addr = addr })))
			return false;
		b = &stub->breaks.at[stub->breaks.nr - 1];
	}
	b->kind = kind;
	if (take_conditions(b, conditions))
		return true;
	remove_break(stub, b);
	return false;
}

static void change_break(struct stub *stub)
{
	const char *at = stub->packet + 3;
	struct stub_break *b;
	uint64_t addr, kind;
	bool ok = stub->packet[2] == ',' && packet_number(&at, &addr) && *at++ == ',' && packet_number(&at, &kind);

	if (ok && stub->packet[0] == 'Z') {
		ok = insert_break(stub, addr, stub->packet[1] - '0', at);
	} else if (ok) {
		b = find_break(stub, addr);
		if (b)
			remove_break(stub, b);
	}
	reply_text(stub, ok && list_addresses(stub) ? "OK" : "E01");
}

/* Return true if a condition of the breakpoint is true, or if the breakpoint has no condition. */
static bool stops(struct stub *stub, const struct stub_break *b, int32_t tid)
{
	size_t at = 0, size;

	if (!b->code.nr)
		return true;
	while (at < b->code.nr) {
		size = b->code.at[at] << 8 | b->code.at[at + 1];
		if (agent_true(stub, tid, b->code.at + at + 2, size))
			return true;
		at += 2 + size;
	}
	return false;
}

static const struct stub_break *break_here(struct stub *stub, const struct nt_replay_place *here)
{
	const struct stub_break *b = find_break(stub, here->addr);

	stub->callers_tid = -1;
	return b && stops(stub, b, here->thread) ? b : NULL;
}

/* ---- Moves of `monitor goto` and `monitor back` ---- */

/*
 * Move back to the first instruction of the source line whose code is at [@from, @to). Do not stop inside calls that
 * the line has made.
 */
static void go_back(struct stub *stub, uint64_t from, uint64_t to)
{
	NS_ARRAY(uint64_t) line = { 0 };
	struct nt_replay_place here;
	int32_t tid = stub->tid;
	unsigned int n = 0;
	size_t depth;
	uint64_t addr;
	int moved;

	for (addr = from; addr < to && addr < from + 4096; addr += 2) {
		if (!ns_array_add(&line, addr))
			break;
	}
	depth = nt_replay_callers(stub->replay, tid, NULL, 0);
	do {
		moved = nt_replay_step(stub->replay, tid, true);
		if (moved != NT_REPLAY_MOVED || !nt_replay_here(stub->replay, &here))
			break;
		/* after a step back into a function that the line called, move to the line's code before the call */
		while (moved == NT_REPLAY_MOVED && (here.addr < from || here.addr >= to) &&
		       nt_replay_callers(stub->replay, tid, NULL, 0) > depth) {
			moved = nt_replay_find(stub->replay, tid, line.at, line.nr, true);
			nt_replay_here(stub->replay, &here);
		}
	} while (moved == NT_REPLAY_MOVED && here.addr >= from && here.addr < to && (++n & 0xfff || !link_interrupted(stub)));
	if (moved == NT_REPLAY_MOVED)
		moved = nt_replay_step(stub->replay, tid, false);
	free(line.at);
	stop_here(stub, moved, tid, true, "");
}

int run_goto(struct stub *stub)
{
	enum stub_goto goes_to = stub->goes_to;

	stub->goes_to = STUB_GOTO_NONE;
	return goes_to == STUB_GOTO_NONE ? NT_REPLAY_MOVED : goes_to == STUB_GOTO_TIME ?
	       nt_replay_seek_time(stub->replay, stub->goto_value) : nt_replay_seek(stub->replay, stub->goto_value);
}

/* Move to the position that `monitor goto` or `monitor back` has set. Return false if no position is set. */
static bool go_to(struct stub *stub)
{
	struct nt_replay_place here;
	int moved;

	if (stub->goes_to == STUB_GOTO_BACK) {
		stub->goes_to = STUB_GOTO_NONE;
		go_back(stub, stub->goto_value, stub->goto_end);
		return true;
	}
	if (stub->goes_to == STUB_GOTO_NONE)
		return false;
	moved = run_goto(stub);
	if (moved == NT_REPLAY_END && stub->goto_value != UINT64_MAX)
		stub_say(stub, "ntrace: nothing was executed at this place or later, so this is the last instruction\n");
	if (moved >= 0)
		moved = nt_replay_here(stub->replay, &here) ? NT_REPLAY_MOVED : -1;
	stop_here(stub, moved, -1, false, "");
	return true;
}

/* ---- Continue and step ---- */

/*
 * If the process has loaded other files between @from and the position, move to the first instruction with these files
 * and stop, because the client may set breakpoints in them. Return false if the process has not loaded other files.
 */
static bool stop_at_files(struct stub *stub, const struct nt_replay_place *from, bool backwards)
{
	struct nt_replay_place to, at;
	uint64_t space = from->space, time;

	if (!nt_replay_change(stub->replay, &space, backwards, &time) || !nt_replay_here(stub->replay, &to) ||
	    (backwards ? time <= to.time : time > to.time))
		return false;
	nt_replay_seek_time(stub->replay, time);
	if (backwards)
		nt_replay_step(stub->replay, -1, true);
	if (nt_replay_here(stub->replay, &at) && (backwards ? at.insn > to.insn : at.insn < to.insn) &&
	    has_other_files(stub, at.space)) {
		stub->fresh = true;
		reply_files(stub, &at);
		return true;
	}
	nt_replay_seek(stub->replay, to.insn);
	return false;
}

/*
 * Return true if the client has not seen the instruction at the position, so that a breakpoint there must stop the
 * client. After a step of one thread, the position can be at an instruction of another thread, which the client has not
 * seen.
 */
static bool is_fresh(struct stub *stub, const struct nt_replay_place *here, bool backwards)
{
	bool fresh = stub->fresh || (!backwards && here->thread != stub->stopped);

	stub->fresh = false;
	return fresh;
}

/* Continue to a breakpoint that thread @tid reaches. If @tid is -1, continue to a breakpoint of any thread. */
static void go_on(struct stub *stub, int32_t tid, bool backwards)
{
	const struct stub_break *b = NULL;
	struct nt_replay_place here;
	int moved = NT_REPLAY_MOVED;

	/*
	 * a breakpoint at the current position stops only a client that was not yet shown this position
	 * (is_fresh()), because a client that has stopped there wants to continue past the breakpoint
	 */
	if (go_to(stub))
		return;
	if (link_interrupted(stub)) {
		run_stopped(stub, stub->tid, SIGINT_GDB, "");
		return;
	}
	if (!nt_replay_here(stub->replay, &here))
		moved = -1;
	else if (is_fresh(stub, &here, backwards) && (tid < 0 || here.thread == tid))
		b = break_here(stub, &here);
	while (!b && moved == NT_REPLAY_MOVED) {
		moved = nt_replay_find(stub->replay, tid, stub->addrs.at, stub->addrs.nr, backwards);
		if (stop_at_files(stub, &here, backwards))
			return;
		if (!nt_replay_here(stub->replay, &here))
			moved = -1;
		if (moved == NT_REPLAY_MOVED)
			b = break_here(stub, &here);
		if (!b && link_interrupted(stub)) {
			run_stopped(stub, here.thread, SIGINT_GDB, "");
			return;
		}
	}
	stop_here(stub, moved, -1, backwards, !b ? "" : b->kind ? "hwbreak:;" : "swbreak:;");
}

static void step(struct stub *stub, int32_t tid, bool backwards)
{
	int moved = nt_replay_step(stub->replay, tid, backwards);

	if (moved == NT_REPLAY_MOVED && link_interrupted(stub))
		run_stopped(stub, tid, SIGINT_GDB, "");
	else
		stop_here(stub, moved, tid, backwards, "");
}

/* Step until the thread is outside of [@from, @to), or at a breakpoint. */
static void step_range(struct stub *stub, int32_t tid, uint64_t from, uint64_t to)
{
	const struct stub_break *b = NULL;
	struct nt_replay_place here;
	/* check for an interrupt at the first step, and then at each 4096th step */
	unsigned int n = 0xfff;
	int moved;

	do {
		moved = nt_replay_step(stub->replay, tid, false);
		if (moved != NT_REPLAY_MOVED || !nt_replay_where(stub->replay, tid, &here))
			break;
		b = stub->addrs.nr ? break_here(stub, &here) : NULL;
		if (!(++n & 0xfff) && link_interrupted(stub)) {
			run_stopped(stub, here.thread, SIGINT_GDB, "");
			return;
		}
	} while (!b && !has_other_files(stub, here.space) && here.addr >= from && here.addr < to);
	stop_here(stub, moved, tid, false, b ? (b->kind ? "hwbreak:;" : "swbreak:;") : "");
}

/* Apply the first action of a vCont packet that steps. If no action steps, continue. */
static void take_actions(struct stub *stub)
{
	const char *at = stub->packet + 5, *thread;
	uint64_t from = 0, to = 0;
	int32_t tid, go = -1;
	bool ranges;

	for (; *at == ';'; at += strcspn(at, ";")) {
		at++;
		ranges = *at == 'r';
		thread = at + strcspn(at, ":;");
		tid = -1;
		if (*thread == ':') {
			thread++;
			if (!stub_thread(stub, &thread, &tid))
				tid = -1;
		}
		if (*at == 'c' || *at == 'C' || *at == 't') {
			go = *at == 't' ? go : tid;
			continue;
		}
		tid = tid < 0 ? stub->tid : tid;
		if (!ranges) {
			step(stub, tid, false);
			return;
		}
		at++;
		if (packet_number(&at, &from) && *at++ == ',' && packet_number(&at, &to))
			step_range(stub, tid, from, to);
		else
			reply_text(stub, "E01");
		return;
	}
	go_on(stub, go, false);
}

/* Do not move, and report the reason @why to the user. */
static void refuse_move(struct stub *stub, const char *why)
{
	stub_say(stub, why);
	run_stopped(stub, stub->tid, SIGTRAP_GDB, "");
}

static void run_forwards(struct stub *stub)
{
	const char *packet = stub->packet;

	if (stub->linux_abi && stub->goes_to == STUB_GOTO_NONE)
		refuse_move(stub, "ntrace: this gdb takes the program for one of GNU/Linux. It would then step forwards to places\n"
			    "that it computes from unknown registers. Leave gdb, and start it with: gdb -iex 'set osabi none'\n");
	else if (packet[0] == 'v')
		take_actions(stub);
	else if (packet[0] == 'c' || packet[0] == 'C')
		go_on(stub, -1, false);
	else
		step(stub, stub->run_tid >= 0 ? stub->run_tid : stub->tid, false);
}

static void run_backwards(struct stub *stub)
{
	int32_t tid;

	if (stub->packet[1] == 'c')
		go_on(stub, stub->run_tid, true);
	else if (stub->run_tid < 0 && !stub->has_script && nt_replay_thread(stub->replay, 1, &tid))
		refuse_move(stub, "ntrace: gdb does not name the thread that steps back. Leave gdb, and start it with the option\n"
			    "-ix and the path of ntrace-gdb.py, which changes this\n");
	else
		step(stub, stub->run_tid >= 0 ? stub->run_tid : stub->tid, true);
}

static void run(struct stub *stub)
{
	struct stub_stop stop = stub->pending;

	stub->pending.reason = NULL;
	if (stop.reason)
		run_stopped(stub, stop.tid, stop.signal, stop.reason);
	else if (stub->packet[0] == 'b')
		run_backwards(stub);
	else
		run_forwards(stub);
}

bool run_packet(struct stub *stub)
{
	const char *packet = stub->packet;

	if ((packet[0] == 'Z' || packet[0] == 'z') && (packet[1] == '0' || packet[1] == '1'))
		change_break(stub);
	else if (!strcmp(packet, "vCont?"))
		reply_text(stub, "vCont;c;C;s;S;t;r");
	else if (!strncmp(packet, "vCont;", 6) || (packet[0] && strchr("cCsS", packet[0])) || !strcmp(packet, "bc") ||
		 !strcmp(packet, "bs"))
		run(stub);
	else
		return false;
	return true;
}
