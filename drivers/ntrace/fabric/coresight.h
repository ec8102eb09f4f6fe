/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of Arm CoreSight components, which are the common ones (CoreSight Architecture
 * Specification, chapter B2), those of the funnel (CoreSight SoC-400 Technical Reference Manual),
 * and those of the Trace Memory Controller (TMC Technical Reference Manual).
 */
#ifndef NTRACE_CORESIGHT_H
#define NTRACE_CORESIGHT_H

#include <linux/bits.h>

/* All components */
#define CS_CLAIMSET			0xfa0
#define CS_CLAIMCLR			0xfa4
#define  CS_CLAIM_EXTERNAL		BIT(0)
#define  CS_CLAIM_SELF_HOSTED		BIT(1)
#define CS_LAR				0xfb0
#define  CS_LAR_KEY			0xc5acce55
#define CS_AUTHSTATUS			0xfb8
#define  CS_AUTHSTATUS_NSNID		GENMASK(3, 2)
#define   CS_AUTHSTATUS_DISABLED	2	/* 0: not implemented, 3: enabled */
#define CS_DEVID			0xfc8
#define CS_DEVTYPE			0xfcc
#define  CS_DEVTYPE_MAJOR		GENMASK(3, 0)
#define   CS_DEVTYPE_SINK		1
#define   CS_DEVTYPE_LINK		2

/* Funnel */
#define CS_FUNNEL_CTRL			0x000
#define  CS_FUNNEL_PORTS		GENMASK(7, 0)
#define  CS_FUNNEL_HOLD			GENMASK(11, 8)
/* number of transfers from one input before the funnel may switch to another input, minus 1 */
#define   CS_FUNNEL_HOLD_TIME		7
#define CS_FUNNEL_PRIORITY		0x004

/* Trace Memory Controller */
#define TMC_RSZ				0x004	/* words of 32 bits */
#define TMC_STS				0x00c
#define  TMC_STS_FULL			BIT(0)
#define  TMC_STS_READY			BIT(2)
#define  TMC_STS_MEMERR			BIT(5)
#define TMC_RRP				0x014
#define TMC_RWP				0x018
#define TMC_CTL				0x020
#define  TMC_CTL_CAPTURE		BIT(0)
#define TMC_MODE			0x028
#define  TMC_MODE_CIRCULAR		0
#define  TMC_MODE_HW_FIFO		2
#define TMC_BUFWM			0x034
#define TMC_RRPHI			0x038
#define TMC_RWPHI			0x03c
#define TMC_AXICTL			0x110
#define  TMC_AXICTL_PROT_NS		BIT(1)
#define  TMC_AXICTL_BURST		GENMASK(11, 8)
#define TMC_DBALO			0x118
#define TMC_DBAHI			0x11c
#define TMC_FFCR			0x304
#define  TMC_FFCR_EN_FMT		BIT(0)
#define  TMC_FFCR_EN_TI			BIT(1)
#define  TMC_FFCR_FLUSH_MAN		BIT(6)
#define  TMC_FFCR_STOP_ON_FLUSH		BIT(12)
#define  TMC_DEVID_CONFIG		GENMASK(7, 6)
#define   TMC_DEVID_ETR			1
#define   TMC_DEVID_ETF			2

#endif /* NTRACE_CORESIGHT_H */
