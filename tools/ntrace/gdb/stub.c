// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reply to packets that ask for registers, memory and threads. A value that the recording does not
 * contain is reported as not available, and is never guessed.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/recording.h"
#include "ntrace.h"
#include "stub.h"

/*
 * The stub shows the callers of each thread as memory, because gdb's unwinders may read memory but not send packets.
 * The memory of a thread begins with the number of callers and the id of the executed thread, which have 32 bits each.
 * The addresses of the callers follow. If CPUs are threads, this id differs from the id by which the client knows the
 * CPU.
 *
 * An address of this memory consists of WINDOW (16 bits), the client's id of the thread (24 bits), and an offset (24
 * bits).
 */
#define WINDOW		0x4e54ULL

/* ---- Threads ---- */

static bool has_thread(const struct stub *stub, int32_t tid)
{
	int32_t other;
	size_t i;

	for (i = 0; nt_replay_thread(stub->replay, i, &other); i++) {
		if (other == tid)
			return true;
	}
	return false;
}

bool stub_thread(const struct stub *stub, const char **at, int32_t *tid)
{
	uint64_t pid = stub->pid, number = 0;

	*tid = -1;
	if (**at == 'p') {
		++*at;
		if (!strncmp(*at, "-1", 2))
			return true;
		if (!packet_number(at, &pid) || (pid && pid != (uint32_t)stub->pid))
			return false;
		/* an id without a thread means all threads of the process */
		if (**at != '.')
			return true;
		++*at;
	}
	if (!strncmp(*at, "-1", 2)) {
		*at += 2;
		return true;
	}
	if (!packet_number(at, &number))
		return false;
	if (!number)
		return true;
	*tid = number - stub->machine;
	return number <= INT32_MAX && has_thread(stub, *tid);
}

static void select_thread(struct stub *stub, const char *packet)
{
	const char *at = packet + 2;
	struct nt_replay_place here;
	int32_t tid;

	if (!packet[1] || !stub_thread(stub, &at, &tid)) {
		reply_text(stub, "E01");
		return;
	}
	if (packet[1] == 'c')
		stub->run_tid = tid;
	else if (tid >= 0)
		stub->tid = tid;
	else if (stub->tid < 0 && nt_replay_here(stub->replay, &here))
		stub->tid = here.thread;
	reply_text(stub, "OK");
}

/*
 * gdb shows the name of the function that contains the byte before a caller's address, because it expects the call
 * there. If a trap has interrupted the first instruction of a function, gdb would therefore show the name of another
 * function. In this case, return the address of the second instruction.
 */
static void show_trap(struct stub *stub, int32_t tid, struct nt_replay_caller *caller)
{
	struct nt_replay_place here;
	struct nt_place at;
	uint8_t first;

	if (!caller->trap || !nt_replay_where(stub->replay, tid, &here))
		return;
	nt_session_where(stub->session, here.space, caller->addr, &at);
	if (at.symbol && !at.offset && nt_session_read(stub->session, here.space, caller->addr, &first, 1))
		caller->addr += nt_code_length(first);
}

/* Set @stub->callers to the callers of a thread. Return their number, at most STUB_CALLERS. */
static size_t find_callers(struct stub *stub, int32_t tid)
{
	size_t nr, i;

	if (stub->callers_tid != tid) {
		stub->nr_callers = nt_replay_callers(stub->replay, tid, stub->callers, STUB_CALLERS);
		nr = stub->nr_callers < STUB_CALLERS ? stub->nr_callers : STUB_CALLERS;
		for (i = 1; i < nr; i++)
			show_trap(stub, tid, &stub->callers[i]);
	}
	stub->callers_tid = tid;
	return stub->nr_callers < STUB_CALLERS ? stub->nr_callers : STUB_CALLERS;
}

/* ---- Registers ---- */

static size_t register_size(const struct stub *stub, uint64_t number)
{
	if (number <= STUB_REG_PC)
		return stub->xlen / 8;
	return (number >= STUB_REG_FCSR && number < STUB_REG_TIME) || number == STUB_REG_CPU ? 4 : 8;
}

bool stub_register(struct stub *stub, int32_t tid, uint64_t number, uint64_t *value, size_t *size)
{
	struct nt_replay_place place;

	*size = register_size(stub, number);
	if ((number != STUB_REG_PC && number < STUB_REG_TIME) || number >= STUB_REGS ||
	    !nt_replay_where(stub->replay, tid, &place))
		return false;
	switch (number) {
	case STUB_REG_PC:
		*value = place.addr;
		break;
	case STUB_REG_TIME:
		*value = place.time;
		break;
	case STUB_REG_INSN:
		*value = place.insn;
		break;
	case STUB_REG_DEPTH:
		find_callers(stub, tid);
		*value = stub->nr_callers;
		break;
	default:
		*value = (uint32_t)place.cpu;
	}
	return true;
}

static void reply_register(struct stub *stub, uint64_t number)
{
	static const char unavailable[] = "xxxxxxxxxxxxxxxx";
	uint64_t value;
	size_t size;

	if (stub_register(stub, stub->tid, number, &value, &size))
		reply_number(stub, value, size);
	else
		reply_add(stub, unavailable, 2 * size);
}

static void read_registers(struct stub *stub, const char *packet)
{
	const char *at = packet + 1;
	uint64_t number = 0;

	if (packet[0] == 'g') {
		for (; number < STUB_REGS; number++)
			reply_register(stub, number);
	} else if (packet_number(&at, &number) && number < STUB_REGS) {
		reply_register(stub, number);
	} else {
		reply_text(stub, "E01");
	}
}

/* ---- Memory ---- */

static size_t read_window(struct stub *stub, uint64_t addr, uint8_t *data, size_t size)
{
	uint64_t tid = (addr >> 24 & 0xffffff) - stub->machine, offset = addr & 0xffffff, word, row;
	struct nt_replay_place place;
	size_t nr, i;

	stub->has_script = true;
	if (!has_thread(stub, tid) || !nt_replay_where(stub->replay, tid, &place))
		return 0;
	nr = find_callers(stub, tid);
	for (i = 0; i < size && offset + i < 8 + nr * 8; i++) {
		row = (offset + i) / 8;
		word = row ? stub->callers[row - 1].addr : nr | (uint64_t)place.tid << 32;
		data[i] = word >> (8 * ((offset + i) % 8));
	}
	return i;
}

/*
 * Read code and constants. In the kernel, only read functions, because the copy of the kernel also contains data of modules, which
 * can have changed since the copy was made.
 */
static size_t read_code(struct stub *stub, uint64_t addr, uint8_t *data, size_t size)
{
	struct nt_replay_object file;
	struct nt_replay_place place;
	struct nt_place at;
	size_t i, read;

	if (!nt_replay_where(stub->replay, stub->tid, &place))
		return 0;
	if (addr >= (stub->xlen == 32 ? 0xc0000000ULL : 1ULL << 63)) {
		nt_session_where(stub->session, place.space, addr, &at);
		if (!at.symbol || at.end <= addr)
			return 0;
		if (size > at.end - addr)
			size = at.end - addr;
	}
	read = nt_session_read(stub->session, place.space, addr, data, size);
	/* if the machine is shown, also read code of programs that other CPUs execute */
	for (i = 0; !read && stub->machine && stub_file(stub, i, &file); i++) {
		if (addr >= file.start && addr < file.end)
			read = nt_session_read(stub->session, file.space, addr, data, size);
	}
	return read ?: nt_replay_constants(stub->replay, stub->list, addr, data, size);
}

static void read_memory(struct stub *stub, const char *packet)
{
	uint8_t data[STUB_PACKET / 2];
	const char *at = packet + 1;
	uint64_t addr, size;
	size_t n;

	if (!packet_number(&at, &addr) || *at++ != ',' || !packet_number(&at, &size)) {
		reply_text(stub, "E01");
		return;
	}
	if (size > sizeof(data))
		size = sizeof(data);
	n = addr >> 48 == WINDOW ? read_window(stub, addr, data, size) : read_code(stub, addr, data, size);
	if (n)
		reply_hex(stub, data, n);
	else
		reply_text(stub, "E01");
}

/* ---- Commands, and packets that ask for data ---- */

bool stub_say(struct stub *stub, const char *text)
{
	reply_text(stub, "O");
	reply_hex(stub, text, strlen(text));
	return link_send(stub);
}

static void say_features(struct stub *stub)
{
	reply_format(stub, "PacketSize=%x;QStartNoAckMode+;multiprocess+;qXfer:features:read+;qXfer:threads:read+;"
		     "qXfer:exec-file:read+;qXfer:libraries:read+;qXfer:libraries-svr4:read+;vContSupported+;"
		     "ReverseContinue+;ReverseStep+;swbreak+;hwbreak+;ConditionalBreakpoints+", STUB_PACKET);
}

bool stub_goto(struct stub *stub, const char *place)
{
	enum stub_goto goes_to = STUB_GOTO_INSN;
	uint64_t value = 0;
	const char *end = NULL;
	char *rest;

	if (isdigit((unsigned char)*place)) {
		goes_to = STUB_GOTO_TIME;
		end = recording_seconds(place, &value);
	} else if (!strncmp(place, "insn ", 5) && isdigit((unsigned char)place[5])) {
		value = strtoull(place + 5, &rest, 10);
		end = rest;
	} else if (!strcmp(place, "begin") || !strcmp(place, "end")) {
		value = *place == 'b' ? 0 : UINT64_MAX;
		end = "";
	}
	stub->goes_to = end && !*end ? goes_to : STUB_GOTO_NONE;
	stub->goto_value = value;
	return stub->goes_to != STUB_GOTO_NONE;
}

/* Print the last calls before the position, with their times. Functions are indented by the number of their callers. */
static void say_calls(struct stub *stub, unsigned int max)
{
	struct nt_replay_call calls[STUB_CALLS];
	struct nt_place at;
	char line[512];
	size_t nr, i;

	nr = nt_replay_calls(stub->replay, stub->tid, calls, max && max < STUB_CALLS ? max : STUB_CALLS);
	for (i = 0; i < nr; i++) {
		nt_session_where(stub->session, calls[i].space, calls[i].addr, &at);
		snprintf(line, sizeof(line), "%" PRIu64 ".%09" PRIu64 " s %*s%s\n", calls[i].time / 1000000000,
			 calls[i].time % 1000000000, (int)(calls[i].depth < 100 ? calls[i].depth : 100), "", at.symbol ?: "??");
		stub_say(stub, line);
	}
}

/*
 * Parse `monitor goto PLACE` or `monitor back FROM TO`, so that the next continue packet moves to the place, or `monitor
 * calls N`.
 */
static void take_command(struct stub *stub, const char *hex)
{
	char text[128];
	long n = packet_hex(hex, (uint8_t *)text, sizeof(text) - 1);
	uint64_t from, to;
	unsigned int max;

	text[n < 0 ? 0 : n] = '\0';
	stub->goes_to = STUB_GOTO_NONE;
	if (sscanf(text, "back %" SCNx64 " %" SCNx64, &from, &to) == 2) {
		stub->goes_to = STUB_GOTO_BACK;
		stub->goto_value = from;
		stub->goto_end = to;
	} else if (!strncmp(text, "goto ", 5)) {
		stub_goto(stub, text + 5);
	} else if (sscanf(text, "calls %u", &max) == 1) {
		say_calls(stub, max);
		reply_text(stub, "OK");
		return;
	}
	if (stub->goes_to != STUB_GOTO_NONE) {
		reply_text(stub, "OK");
		return;
	}
	snprintf(text, sizeof(text), "goto needs a place in the recording, which is TIME in seconds, begin, end, or insn N\n");
	reply_hex(stub, text, strlen(text));
}

/* Refuse LLDB, which alone sends the packet that leads here. To its next packet "?" (why stopped), reply an error. */
static void refuse_lldb(struct stub *stub)
{
	refuse("LLDB would show values that the trace does not have, and would not stop at breakpoints. Use gdb");
	stub->lldb = true;
}

/* Reply to a packet that only asks for data. Unknown packets get an empty reply. */
static void answer(struct stub *stub)
{
	const char *packet = stub->packet, *at = packet + 1;
	int32_t tid;

	if (!strncmp(packet, "qSupported", 10))
		say_features(stub);
	else if (!strcmp(packet, "QThreadSuffixSupported"))
		refuse_lldb(stub);
	else if (!strcmp(packet, "?") && stub->lldb)
		reply_text(stub, "E01");
	else if (!strcmp(packet, "?"))
		run_stopped(stub, stub->tid, 5, "");
	else if (packet[0] == 'H')
		select_thread(stub, packet);
	else if (packet[0] == 'g' || packet[0] == 'p')
		read_registers(stub, packet);
	else if (packet[0] == 'm')
		read_memory(stub, packet);
	else if (packet[0] == 'T')
		reply_text(stub, stub_thread(stub, &at, &tid) ? "OK" : "E01");
	else if (!strcmp(packet, "qC"))
		reply_format(stub, "QCp%x.%x", stub->pid, stub_id(stub, stub->tid));
	else if (!strncmp(packet, "qAttached", 9))
		reply_text(stub, "1");
	else if (!strncmp(packet, "qRcmd,", 6))
		take_command(stub, packet + 6);
	else if (packet[0] == 'D' || !strncmp(packet, "vKill", 5))
		reply_text(stub, "OK");
	else if (strchr("GPMX", packet[0]) && packet[0])
		reply_text(stub, "E01");
}

void stub_begin(struct stub *stub)
{
	struct nt_replay_place here = { 0 };

	nt_replay_here(stub->replay, &here);
	stub->run_tid = stub->callers_tid = -1;
	stub->tid = stub->stopped = here.thread;
	objects_begin(stub, here.space);
}

int stub_serve(struct stub *stub, int in, int out)
{
	bool acks, quit = false;

	stub->in = in;
	stub->out = out;
	while (!quit && link_read(stub)) {
		acks = !strcmp(stub->packet, "QStartNoAckMode");
		if (acks)
			reply_text(stub, "OK");
		else if (!objects_packet(stub) && !run_packet(stub))
			answer(stub);
		quit = stub->packet[0] == 'D' || stub->packet[0] == 'k' || !strncmp(stub->packet, "vKill", 5);
		if (stub->packet[0] != 'k' && !link_send(stub))
			break;
		stub->no_acks |= acks;
	}
	return stub->lldb ? EXIT_USAGE : EXIT_CLEAN;
}

void stub_free(struct stub *stub)
{
	size_t i;

	for (i = 0; i < stub->breaks.nr; i++)
		free(stub->breaks.at[i].code.at);
	free(stub->breaks.at);
	free(stub->addrs.at);
	nt_replay_free(stub->replay);
}
