// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The settings of the encoder
 */
#include "dialect.h"

void nt_config_init(struct nt_config *config, size_t size)
{
	struct nt_config init = NT_CONFIG_INIT;

	memset(config, 0, size);
	memcpy(config, &init, size < sizeof(init) ? size : sizeof(init));
	config->size = size;
}

/*
 * Copy the caller's configuration to the layout of this library. The caller may have been built
 * with another version of the header. Members that this library does not know must be 0.
 */
int nt_config_copy(struct nt_config *copy, const struct nt_config *config)
{
	struct nt_config init = NT_CONFIG_INIT;
	size_t size, i;

	*copy = init;
	if (!config)
		return NT_OK;
	size = config->size;
	if (size < offsetof(struct nt_config, mode) || size > NT_CONFIG_SIZE_MAX)
		return NT_E_INVALID;
	for (i = sizeof(*copy); i < size; i++) {
		if (((const char *)config)[i])
			return NT_E_INVALID;
	}
	memcpy(copy, config, size < sizeof(*copy) ? size : sizeof(*copy));
	copy->size = sizeof(*copy);
	return NT_OK;
}

#define DEVIATION_BIT(name, number, option, text, chapter)	| NT_DEV_BIT(number)

/* Members of struct nt_config that may have each value from 0 to @max */
static const struct {
	const char *name;
	size_t offset;
	uint32_t max;
} limits[] = {
#define LIMIT(member, max)	{ #member, offsetof(struct nt_config, member), max }
	LIMIT(src_bits, NT_SRC_BITS_MAX),
	LIMIT(timestamp, 1),
	LIMIT(tstamp_bits, 64),
	LIMIT(return_depth, NT_RETURN_DEPTH_MAX),
	LIMIT(sequential_jump, 1),
	LIMIT(all_jumps, 1),
	LIMIT(extend_addr, 1),
	LIMIT(isa, NT_ISA_ZCMP | NT_ISA_ZCMT),
	LIMIT(dialect, ARRAY_SIZE(nt_dialect_tables) - 1),
	LIMIT(return_full, NT_RETURN_DROP_NEWEST),
	LIMIT(custom_jumps, NT_CUSTOM_SYSTEM | NT_CUSTOM_COMPRESSED),
	LIMIT(flow_only, 1),
	LIMIT(accept, 0 NT_DEVIATIONS(DEVIATION_BIT)),
	LIMIT(strict, 1),
};

const char *nt_config_bad_member(const struct nt_config *config)
{
	struct nt_config c;
	uint32_t value;
	size_t i;

	if (nt_config_copy(&c, config))
		return "size";
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		memcpy(&value, (const char *)&c + limits[i].offset, sizeof(value));
		if (value > limits[i].max)
			return limits[i].name;
	}
	if (c.xlen != 32 && c.xlen != 64)
		return "xlen";
	if (c.src_id != NT_SRC_ANY && c.src_id >> c.src_bits)
		return "src_id";
	if (c.mode != NT_MODE_AUTO && c.mode != NT_MODE_BTM && c.mode != NT_MODE_HTM)
		return "mode";
	if (c.addr_bits && (c.addr_bits < NT_ADDR_BITS_MIN || c.addr_bits > c.xlen))
		return "addr_bits";
	return NULL;
}

int nt_config_check(const struct nt_config *config)
{
	return nt_config_bad_member(config) ? NT_E_INVALID : NT_OK;
}
