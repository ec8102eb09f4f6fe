// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile --bolt - write the branches of a program, and the code between branches, for
 * perf2bolt -pa:
 *
 *	B FROM TO COUNT MISPREDICTED	the branch from FROM to TO was taken COUNT times
 *	F FROM TO COUNT			the code from FROM to TO was executed COUNT times, without a taken branch in it
 *
 * Addresses are those in one file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* A branch or a range of code, which is a line of the output */
struct way {
	char		type;
	uint64_t	from, to, count;
};

struct bolt {
	struct profile	*profile;
	const char	*object;
	struct nt_config config;
	NS_ARRAY(struct way) ways;
	bool		failed;		/* out of memory */
};

static const char *largest_object(const struct profile *profile)
{
	const struct nt_profile_insn *insns;
	const char *best = NULL, *object = NULL;
	uint64_t most = 0, sum = 0;
	size_t nr, i;

	insns = nt_profile_insns(profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		if (insns[i].object != object)
			sum = 0;
		object = insns[i].object;
		sum += insns[i].count;
		if (profile_wants(profile, object) && object[0] != '[' && sum > most) {
			most = sum;
			best = object;
		}
	}
	return best;
}

/*
 * Convert an address of a process to an address in the file bolt::object. Return false if the
 * address belongs to another file.
 */
static bool in_file(const struct bolt *b, uint64_t space, uint64_t addr, uint64_t *file_addr)
{
	struct nt_place place;

	nt_session_where(b->profile->session, space, addr, &place);
	*file_addr = place.address;
	return place.object && !strcmp(place.object, b->object);
}

static void put_way(struct bolt *b, char type, uint64_t space, uint64_t from, uint64_t to,
		    uint64_t count)
{
	struct way way = { .type = type, .count = count };

	if (count && in_file(b, space, from, &way.from) && in_file(b, space, to, &way.to))
		b->failed |= !ns_array_add(&b->ways, way);
}

/* Decode the instruction at an address. Return false if it cannot be read. */
static bool read_insn(const struct bolt *b, uint64_t space, uint64_t addr, struct nt_insn *insn)
{
	uint8_t code[8];
	size_t size = nt_session_read(b->profile->session, space, addr, code, sizeof(code));

	return nt_insn_decode(&b->config, code, size, insn) > 0;
}

/* Find the last instruction of a block, and the address of this instruction. Return false if code is missing. */
static bool last_insn(const struct bolt *b, const struct nt_count *block, uint64_t *addr,
		      struct nt_insn *insn)
{
	uint64_t at = block->from;

	while (read_insn(b, block->space, at, insn)) {
		if (at + insn->length >= block->to) {
			*addr = at;
			return true;
		}
		at += insn->length;
	}
	return false;
}

/*
 * Write a block. If it ends with a direct jump or call, also write this branch, because it has only
 * one target. If it ends with an instruction that does not jump, because a message was sent there,
 * write that the code continues after this instruction.
 */
static void put_block(struct bolt *b, const struct nt_count *block)
{
	struct nt_insn insn;
	uint64_t last;

	if (!last_insn(b, block, &last, &insn))
		return;
	put_way(b, 'F', block->space, block->from, last, block->count);
	if (insn.klass == NT_CLASS_JUMP || insn.klass == NT_CLASS_CALL)
		put_way(b, 'B', block->space, last, last + insn.imm, block->count);
	else if (insn.klass == NT_CLASS_LINEAR)
		put_way(b, 'F', block->space, last, last + insn.length, block->count);
}

/*
 * Write how often a conditional branch was taken and not taken. The blocks before the branch and
 * after it are written separately.
 */
static void put_conditional(struct bolt *b, const struct nt_count *count)
{
	struct nt_insn insn;

	if (!read_insn(b, count->space, count->from, &insn))
		return;
	put_way(b, 'B', count->space, count->from, count->from + insn.imm, count->count);
	put_way(b, 'F', count->space, count->from, count->from + insn.length, count->not_taken);
}

static void put_count(struct bolt *b, const struct nt_count *count)
{
	switch (count->type) {
	case NT_COUNT_BLOCK:
		put_block(b, count);
		break;
	case NT_COUNT_BRANCH:
		put_conditional(b, count);
		break;
	case NT_COUNT_EDGE:
		/* leave out traps, because a trap is not a branch of the program */
		if (count->how < NT_END_TRAP_RETURN)
			put_way(b, 'B', count->space, count->from, count->to, count->count);
		break;
	}
}

static int way_cmp(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return ns_order(x->type, y->type) ?: ns_order(x->from, y->from) ?: ns_order(x->to, y->to);
}

/* Write the lines. First add up equal lines, which occur if several processes execute the same file. */
static int write_ways(struct bolt *bolt)
{
	const struct way *way = bolt->ways.at, *end;

	if (bolt->failed) {
		errno = ENOMEM;
		return -1;
	}
	ns_array_join(&bolt->ways, way_cmp, a->count += b->count);
	for (end = way + bolt->ways.nr; way < end; way++)
		fprintf(bolt->profile->file, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "%s\n", way->type,
			way->from, way->to, way->count, way->type == 'B' ? " 0" : "");
	return 0;
}

static int bolt_write(struct profile *profile)
{
	struct bolt b = { .profile = profile, .object = largest_object(profile) };
	struct nt_count count;
	uint64_t at = 0;
	int cpu, err;

	if (!b.object || !nt_session_cpu(profile->session, 0, &cpu, &b.config)) {
		fputs("ntrace: the recorded programs did not execute this file\n", stderr);
		errno = ENOENT;
		return -1;
	}
	while (nt_profile_count(profile->counts, &at, &count))
		put_count(&b, &count);
	err = write_ways(&b);
	free(b.ways.at);
	return err;
}

const struct profile_format profile_bolt = { .name = "bolt", .write = bolt_write };
