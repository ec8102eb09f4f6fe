// SPDX-License-Identifier: GPL-2.0-or-later
/* Access to the guest's registers and memory through QEMU's plugin interface. */
#include <string.h>

#include "board.h"

static const char *const reg_names[REG_MAX] = {
	NULL, "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
	[REG_PC] = "pc", [REG_PRIV] = "priv", [REG_MCAUSE] = "mcause", [REG_MEPC] = "mepc",
	[REG_MTVAL] = "mtval", [REG_MTVEC] = "mtvec", [REG_SCAUSE] = "scause", [REG_SATP] = "satp",
	[REG_MSTATUS] = "mstatus", [REG_TIME] = "time", [REG_MINSTRET] = "minstret",
	[REG_HSTATUS] = "hstatus", [REG_HTIMEDELTA] = "htimedelta", [REG_VSATP] = "vsatp", [REG_HGATP] = "hgatp",
	[REG_MSTATEEN0] = "mstateen0", [REG_HSTATEEN0] = "hstateen0",
};

static GByteArray *scratch(unsigned int len)
{
	static __thread GByteArray *buf;

	if (!buf)
		buf = g_byte_array_new();
	return buf->len == len ? buf : g_byte_array_set_size(buf, len);
}

/* Read a register of the hart that the calling thread runs. */
uint64_t board_reg_read(unsigned int reg)
{
	GByteArray *buf = scratch(8);
	uint64_t value = 0;

	/* This function must be fast, because the plugin calls it for each indirect jump of a user program */
	buf->len = 0;
	if (NB_UNLIKELY(reg >= REG_OPTIONAL && !board.regs[reg]))
		return 0;
	if (!qemu_plugin_read_register(board.regs[reg], buf) || !buf->len) {
		if (reg >= REG_OPTIONAL)
			return 0;
		board_fatal("QEMU cannot read register %s", reg_names[reg]);
	}
	memcpy(&value, buf->data, buf->len < 8 ? buf->len : 8);
	return value;
}

/*
 * Return the time of the machine. The time CSR of a hypervisor's guest includes an offset
 * (Privileged specification, "Hypervisor Time Delta"), which timestamps do not.
 */
uint64_t board_time(void)
{
	uint64_t delta = board_reg_read(REG_HTIMEDELTA), time = board_reg_read(REG_TIME);

	return delta && board_reg_read(REG_PRIV) >= NB_PRIV_VU ? time - delta : time;
}

void board_reg_write(unsigned int reg, uint64_t value)
{
	GByteArray *buf = scratch(8);

	memcpy(buf->data, &value, 8);
	qemu_plugin_write_register(board.regs[reg], buf);
}

/* Read memory at a physical address. QEMU's function returns 0 (QEMU_PLUGIN_HWADDR_OPERATION_OK) for success. */
bool board_mem_read(uint64_t addr, void *to, size_t len)
{
	GByteArray *buf = scratch(0);

	if (qemu_plugin_read_memory_hwaddr(addr, buf, len) || buf->len < len)
		return false;
	memcpy(to, buf->data, len);
	return true;
}

bool board_mem_write(uint64_t addr, const void *from, size_t len)
{
	GByteArray buf = { (uint8_t *)from, len };

	/* At the end of the run, QEMU has no hart for the write, and nothing reads the memory */
	if (board.exiting)
		return true;
	return !qemu_plugin_write_memory_hwaddr(addr, &buf);
}

/* Find QEMU's handles of the registers that the board needs. At least one hart must exist. */
void guest_find_registers(void)
{
	GArray *list = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *d = (const void *)list->data;

	for (unsigned int i = 0; i < list->len; i++)
		for (unsigned int r = 0; r < REG_MAX; r++)
			if (reg_names[r] && !strcmp(d[i].name, reg_names[r]))
				board.regs[r] = d[i].handle;
	g_array_free(list, 1);
	/* Begin with register x1, because the board never reads x0, so its handle is not needed */
	for (unsigned int r = 1; r < REG_OPTIONAL; r++)
		if (!board.regs[r])
			board_fatal("this QEMU does not let plugins read register %s", reg_names[r]);
}


bool guest_has_reg(unsigned int reg)
{
	return board.regs[reg];
}

/*
 * Return the privilege mode that a trap was taken from, while its handler runs in mode @now
 * (Privileged specification, "Trap Entry"). In VS mode, mstatus contains the fields of vsstatus.
 */
enum nb_priv guest_trapped_priv(enum nb_priv now)
{
	uint64_t mstatus = board_reg_read(REG_MSTATUS);
	unsigned int spp = !!(mstatus & MSTATUS_SPP), mpp = (mstatus & MSTATUS_MPP) >> 11;

	switch (now) {
	case NB_PRIV_VS:
		return NB_PRIV_VU + spp;
	case NB_PRIV_M:
		return mpp != NB_PRIV_M && mstatus & MSTATUS_MPV ? NB_PRIV_VU + mpp : mpp;
	default:
		return board_reg_read(REG_HSTATUS) & HSTATUS_SPV ? NB_PRIV_VU + spp : spp;
	}
}
