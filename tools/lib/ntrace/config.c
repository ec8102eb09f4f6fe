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
 * with another version of the header.
 */
int nt_config_copy(struct nt_config *copy, const struct nt_config *config)
{
	struct nt_config init = NT_CONFIG_INIT;
	size_t size;

	*copy = init;
	if (!config)
		return NT_OK;
	size = config->size;
	if (size < offsetof(struct nt_config, mode))
		return NT_E_INVALID;
	memcpy(copy, config, size < sizeof(*copy) ? size : sizeof(*copy));
	copy->size = sizeof(*copy);
	return NT_OK;
}

int nt_config_check(const struct nt_config *config)
{
	struct nt_config c;

	if (nt_config_copy(&c, config))
		return NT_E_INVALID;
	if (c.xlen != 32 && c.xlen != 64)
		return NT_E_INVALID;
	if (c.src_bits > NT_SRC_BITS_MAX)
		return NT_E_INVALID;
	if (c.src_id != NT_SRC_ANY && c.src_id >> c.src_bits)
		return NT_E_INVALID;
	if (c.mode != NT_MODE_AUTO && c.mode != NT_MODE_BTM && c.mode != NT_MODE_HTM)
		return NT_E_INVALID;
	if (c.dialect >= ARRAY_SIZE(nt_dialect_tables))
		return NT_E_INVALID;
	if (c.return_full > NT_RETURN_DROP_NEWEST ||
	    c.custom_jumps & ~(NT_CUSTOM_SYSTEM | NT_CUSTOM_COMPRESSED))
		return NT_E_INVALID;
	if (c.addr_bits && (c.addr_bits < NT_ADDR_BITS_MIN || c.addr_bits > 64))
		return NT_E_INVALID;
	if (c.tstamp_bits > 64 || c.return_depth > NT_RETURN_DEPTH_MAX)
		return NT_E_INVALID;
	return NT_OK;
}
