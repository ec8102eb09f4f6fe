/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of the RISC-V Trace Control Interface Specification 1.0.
 *
 * Names are those of the specification in capitals, for example TR_TE_INST_MODE for trTeInstMode.
 * Every register has 32 bits. Registers that are not implemented read as 0.
 */
#ifndef NTRACE_REGS_H
#define NTRACE_REGS_H

#include <linux/bits.h>

/*
 * Registers of all components, chapter "Trace Component Register Map"
 *
 *  tr??Impl
 *   31     24 23    20 19    16 15  12 11   8 7      4 3      0
 *  +---------+--------+--------+------+------+--------+--------+
 *  | vendor  | protocol version| type |      | minor  | major  |
 *  +---------+--------+--------+------+------+--------+--------+
 *            (minor)  (major)   sink   type   of the component
 */
#define TR_CONTROL			0x000
#define  TR_CONTROL_ACTIVE		BIT(0)
#define  TR_CONTROL_ENABLE		BIT(1)
#define  TR_CONTROL_EMPTY		BIT(3)
#define TR_IMPL				0x004
#define  TR_IMPL_VER_MAJOR		GENMASK(3, 0)
#define  TR_IMPL_VER_MINOR		GENMASK(7, 4)
#define  TR_IMPL_COMP_TYPE		GENMASK(11, 8)
#define   TR_COMP_ENCODER		0x1
#define   TR_COMP_FUNNEL		0x8
#define   TR_COMP_RAMSINK		0x9
#define   TR_COMP_PIBSINK		0xa
#define   TR_COMP_ATBBRIDGE		0xe

/* Chapter "Trace Encoder Control Interface" */
#define TR_TE_CONTROL			TR_CONTROL
#define  TR_TE_INST_TRACING		BIT(2)
#define  TR_TE_INST_MODE		GENMASK(6, 4)
#define   TR_TE_INST_MODE_BTM		3
#define   TR_TE_INST_MODE_HTM		6
#define  TR_TE_CONTEXT			BIT(9)
#define  TR_TE_INST_STALL_OR_OVERFLOW	BIT(12)
#define  TR_TE_INST_STALL_ENA		BIT(13)
#define  TR_TE_INHIBIT_SRC		BIT(15)
#define  TR_TE_INST_SYNC_MODE		GENMASK(17, 16)
#define  TR_TE_INST_SYNC_MAX		GENMASK(23, 20)
#define  TR_TE_FORMAT			GENMASK(26, 24)
#define   TR_TE_FORMAT_NTRACE		1
#define TR_TE_IMPL			TR_IMPL
#define  TR_TE_PROTOCOL_MAJOR		GENMASK(19, 16)
#define  TR_TE_PROTOCOL_MINOR		GENMASK(23, 20)
#define TR_TE_INST_FEATURES		0x008
#define  TR_TE_INST_EN_SEQUENTIAL_JUMP	BIT(2)
#define  TR_TE_INST_EN_IMPLICIT_RETURN	BIT(3)
#define  TR_TE_INST_IMPLICIT_RETURN_MODE GENMASK(7, 6)
#define  TR_TE_INST_EN_REPEATED_HISTORY	BIT(8)
#define  TR_TE_INST_EN_ALL_JUMPS	BIT(9)
#define  TR_TE_INST_EXTEND_ADDR_MSB	BIT(10)
#define  TR_TE_SRC_ID			GENMASK(27, 16)
#define  TR_TE_SRC_BITS			GENMASK(31, 28)
#define   TR_TE_SRC_BITS_MAX		12
#define TR_TE_INST_FILTERS		0x00c
#define  TR_TE_INST_FILTERS_MASK	GENMASK(15, 0)
#define TR_TE_DATA_CONTROL		0x010
#define TR_TE_DATA_FILTERS		0x01c
#define TR_TE_TRIG_DBG_CONTROL		0x050
#define TR_TE_TRIG_EXT_IN_CONTROL	0x054
#define TR_TE_TRIG_EXT_OUT_CONTROL	0x058

/* Chapter "Trace Encoder Filter Registers" */
#define TR_TE_FILTER_MAX		16
#define TR_TE_FILTER_CONTROL(i)		(0x400 + 0x20 * (i))
#define  TR_TE_FILTER_ENABLE		BIT(0)
#define  TR_TE_FILTER_MATCH_PRIVILEGE	BIT(1)
#define  TR_TE_FILTER_MATCH_COMP(k)	BIT(4 + 4 * (k))	/* k: 0 to 2 */
#define  TR_TE_FILTER_COMP(k, j)	((u32)(j) << (5 + 4 * (k)))
#define  TR_TE_FILTER_COMPS		3
#define TR_TE_FILTER_MATCH_INST(i)	(0x404 + 0x20 * (i))
#define  TR_TE_FILTER_CHOICE_PRIVILEGE	GENMASK(7, 0)
#define TR_TE_COMP_MAX			8
#define TR_TE_COMP_CONTROL(j)		(0x600 + 0x20 * (j))
#define  TR_TE_COMP_P_FUNCTION		GENMASK(6, 4)
#define  TR_TE_COMP_S_FUNCTION		GENMASK(10, 8)
#define   TR_TE_COMP_FUNCTION_EQ	0
#define   TR_TE_COMP_FUNCTION_LT	2
#define   TR_TE_COMP_FUNCTION_LE	3
#define   TR_TE_COMP_FUNCTION_GE	5
#define   TR_TE_COMP_FUNCTION_PRIME	6	/* never matches; a write sets the P_TO_S latch */
#define  TR_TE_COMP_MATCH_MODE		GENMASK(13, 12)
#define   TR_TE_COMP_MATCH_P		0
#define   TR_TE_COMP_MATCH_P_AND_S	1
#define   TR_TE_COMP_MATCH_NOT_P_AND_S	2
#define   TR_TE_COMP_MATCH_P_TO_S	3
#define TR_TE_COMP_P_MATCH_LOW(j)	(0x610 + 0x20 * (j))
#define TR_TE_COMP_P_MATCH_HIGH(j)	(0x614 + 0x20 * (j))
#define TR_TE_COMP_S_MATCH_LOW(j)	(0x618 + 0x20 * (j))
#define TR_TE_COMP_S_MATCH_HIGH(j)	(0x61c + 0x20 * (j))

/* Chapter "Timestamp Unit", in an encoder or a funnel */
#define TR_TS_CONTROL			0x040
#define  TR_TS_ACTIVE			BIT(0)
#define  TR_TS_COUNT			BIT(1)
#define  TR_TS_RESET			BIT(2)
#define  TR_TS_MODE			GENMASK(6, 4)
#define   TR_TS_MODE_NONE		0
#define   TR_TS_MODE_EXTERNAL		1
#define   TR_TS_MODE_INTERNAL_SYSTEM	2
#define   TR_TS_MODE_INTERNAL_CORE	3
#define   TR_TS_MODE_SHARED		4
#define  TR_TS_PRESCALE			GENMASK(9, 8)
#define  TR_TS_ENABLE			BIT(15)
#define  TR_TS_WIDTH			GENMASK(29, 24)
#define TR_TS_COUNTER_LOW		0x048
#define TR_TS_COUNTER_HIGH		0x04c

/* Chapter "Trace RAM Sink" */
#define TR_RAM_CONTROL			TR_CONTROL
#define  TR_RAM_MODE			BIT(4)
#define   TR_RAM_MODE_SRAM		0
#define   TR_RAM_MODE_SMEM		1
#define  TR_RAM_STOP_ON_WRAP		BIT(8)
#define  TR_RAM_MEM_FORMAT		GENMASK(10, 9)
#define TR_RAM_IMPL			TR_IMPL
#define  TR_RAM_HAS_SRAM		BIT(12)
#define  TR_RAM_HAS_SMEM		BIT(13)
#define TR_RAM_START_LOW		0x010
#define TR_RAM_START_HIGH		0x014
#define TR_RAM_LIMIT_LOW		0x018
#define TR_RAM_LIMIT_HIGH		0x01c
#define TR_RAM_WP_LOW			0x020
#define  TR_RAM_WRAP			BIT(0)
#define  TR_RAM_WP_MASK			GENMASK(31, 2)
#define TR_RAM_WP_HIGH			0x024
#define TR_RAM_RP_LOW			0x028
#define TR_RAM_RP_HIGH			0x02c
#define TR_RAM_DATA			0x040

/* Chapter "Trace Funnel" */
#define TR_FUNNEL_DIS_INPUT		0x008
#define  TR_FUNNEL_DIS_INPUT_MASK	GENMASK(15, 0)

/* Chapter "ATB Bridge" */
#define TR_ATB_BRIDGE_CONTROL		TR_CONTROL
#define  TR_ATB_BRIDGE_ID		GENMASK(14, 8)

#endif /* NTRACE_REGS_H */
