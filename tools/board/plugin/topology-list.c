// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read the list of the components and their connections. tools/board/devicetree
 * converts the same list to the device tree. A line has one of the following
 * forms.
 *
 *	encoder NAME ADDRESS hart=N to=NAME[,NAME]
 *	funnel NAME ADDRESS to=NAME
 *	ramsink NAME ADDRESS [mode=smem|sram|both] [sram=BYTES] [align=BYTES] [burst=BYTES] [irq=N]
 *	atbbridge NAME ADDRESS hart=N to=NAME
 *	csfunnel NAME ADDRESS to=NAME
 *	etf NAME ADDRESS to=NAME
 *	etr NAME ADDRESS
 *	power NAME ADDRESS
 *	sifive-encoder NAME ADDRESS hart=N to=NAME [clock=HZ]
 *	sifive-funnel NAME ADDRESS
 *
 * domain=N, from 1, assigns a component to a domain of the power controller.
 * Inputs of a funnel are numbered in the order of the lines that connect to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

#define TIMEBASE	10000000	/* ticks of the time CSR per second */
#define APLIC_SOURCES	96

/* Maximum number of outputs of a component */
static const uint8_t outputs[DEV_KINDS] = {
	[DEV_ENCODER] = BOARD_MAX_OUTS, [DEV_FUNNEL] = 1, [DEV_ATBBRIDGE] = 1, [DEV_CSFUNNEL] = 1, [DEV_ETF] = 1,
	[DEV_SF_ENCODER] = 1,
};

/* Parse the value of to=NAME or to=NAME,NAME. */
static void parse_outs(struct board_dev *dev, char *names)
{
	char *save, *name = strtok_r(names, ",", &save);

	for (; name; name = strtok_r(NULL, ",", &save)) {
		if (dev->n_outs == outputs[dev->kind])
			board_fatal("topology: %s has too many outputs", dev->name);
		snprintf(dev->out[dev->n_outs++].to, sizeof(dev->out[0].to), "%s", name);
	}
}

#define KIND(kind)	(1U << DEV_##kind)
#define ANY_KIND	(~KIND(POWER))

/* Keys of the words KEY=NUMBER in a line of the list, and the kinds of components that may have the key */
static const struct key {
	const char	*name;
	size_t		offset;		/* offset in struct board_dev of the member, an unsigned int */
	uint32_t	kinds, least, most;
} keys[] = {
#define KEY(field)	#field, offsetof(struct board_dev, field)
	{ KEY(hart), KIND(ENCODER) | KIND(SF_ENCODER) | KIND(ATBBRIDGE), 0, BOARD_MAX_HARTS - 1 },
	{ KEY(irq), KIND(RAMSINK), 1, APLIC_SOURCES - 1 },
	{ KEY(domain), ANY_KIND, 1, BOARD_DEV_SIZE / 4 - 1 },
	{ KEY(clock), KIND(SF_ENCODER), TIMEBASE, UINT32_MAX },
	{ KEY(sram), KIND(RAMSINK), 64, 1U << 28 },
	{ KEY(align), KIND(RAMSINK), 4, 4096 },
	{ KEY(burst), KIND(RAMSINK), 1, 1U << 20 },
};

/* Return false if @text is not a number from @least to @most. */
static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text && *text != '-' && !*end && !errno && *value >= least && *value <= most;
}

static void parse_mode(struct board_dev *dev, const char *name)
{
	static const char *const names[] = { [MODE_SMEM] = "smem", [MODE_SRAM] = "sram", [MODE_BOTH] = "both" };

	for (dev->mode = MODE_SMEM; dev->mode <= MODE_BOTH; dev->mode++)
		if (!strcmp(name, names[dev->mode]))
			return;
	board_fatal("topology: %s: mode=%s is not smem, sram or both", dev->name, name);
}

/* Parse KEY=VALUE */
static void parse_word(struct board_dev *dev, char *word)
{
	size_t len = strcspn(word, "=");
	uint64_t value;

	for (const struct key *k = keys; k < keys + sizeof(keys) / sizeof(keys[0]) && word[len]; k++) {
		if (!(k->kinds >> dev->kind & 1) || strlen(k->name) != len || memcmp(word, k->name, len))
			continue;
		if (!parse_number(word + len + 1, k->least, k->most, &value))
			board_fatal("topology: %s: %s is not a number from %u to %u", dev->name, word, k->least, k->most);
		*(unsigned int *)((char *)dev + k->offset) = value;
		return;
	}
	if (!strncmp(word, "to=", 3))
		parse_outs(dev, word + 3);
	else if (!strncmp(word, "mode=", 5) && dev->kind == DEV_RAMSINK)
		parse_mode(dev, word + 5);
	else
		board_fatal("topology: %s: '%s' is not understood", dev->name, word);
}

static enum dev_kind parse_kind(const char *word, const char *name)
{
	static const char *const kinds[DEV_KINDS] = {
		"encoder", "funnel", "ramsink", "atbbridge", "csfunnel", "etf", "etr", "power",
		"sifive-encoder", "sifive-funnel",
	};
	enum dev_kind kind;

	for (kind = 0; kind < DEV_KINDS; kind++)
		if (!strcmp(word, kinds[kind]))
			return kind;
	board_fatal("topology: '%s %s' is not understood", word, name);
}

/* Parse the name, which must be valid as a file name, and the address of the page of registers. */
static void parse_name(struct board_dev *dev, const char *name, const char *addr)
{
	uint64_t value;

	if (!*name || strlen(name) >= sizeof(dev->name) || strpbrk(name, "/,."))
		board_fatal("topology: no name: '%s'", name);
	strcpy(dev->name, name);
	if (!parse_number(addr, 0, UINT64_MAX, &value) || value % BOARD_DEV_SIZE)
		board_fatal("topology: %s: no address: '%s'", name, addr);
	dev->addr = value;
	for (const struct board_dev *d = board.devs; d < dev; d++) {
		if (!strcmp(d->name, name))
			board_fatal("topology: %s is defined twice", name);
		if (d->addr == value)
			board_fatal("topology: %s has the same address as %s", name, d->name);
	}
}

static void parse_line(char *line)
{
	struct board_dev *dev = &board.devs[board.n_devs];
	char *save, *word = strtok_r(line, " \t\n", &save);
	char *name = strtok_r(NULL, " \t\n", &save), *addr = strtok_r(NULL, " \t\n", &save);

	if (!word)
		return;
	if (board.n_devs == BOARD_MAX_DEVS)
		board_fatal("topology: there are more than %d components", BOARD_MAX_DEVS);
	dev->kind = parse_kind(word, name ? name : "");
	parse_name(dev, name ? name : "", addr ? addr : "");
	while ((word = strtok_r(NULL, " \t\n", &save)))
		parse_word(dev, word);
	if (dev->clock)
		board.bus_ratio = dev->clock / TIMEBASE;
	board.n_devs++;
}

void topology_read_list(void)
{
	FILE *f = fopen(board.topology, "r");
	char line[256];

	if (!f)
		board_fatal("no topology: %s cannot be read", board.topology);
	while (fgets(line, sizeof(line), f)) {
		if (strlen(line) == sizeof(line) - 1 && !strchr(line, '\n'))
			board_fatal("topology: a line is longer than %zu bytes", sizeof(line) - 2);
		if (line[0] != '#')
			parse_line(line);
	}
	fclose(f);
}
