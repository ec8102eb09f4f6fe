# SPDX-License-Identifier: GPL-2.0-only
# Kbuild file of the KUnit tests; see ../Makefile
obj-m := ntrace-kunit.o
ntrace-kunit-y := $(addprefix tests/driver/registers,.o -fabric.o -filter.o -memory.o -order.o -path.o -probe.o -time.o -window.o) \
	$(addprefix tests/driver/,fake.o kunit/truth.o) \
	$(addprefix drivers/ntrace/,component.o timestamp.o encoder.o funnel.o ramsink.o \
		fabric/bridge.o fabric/coresight.o fabric/sifive.o route.o) \
	$(addprefix tools/board/model/,regs.o regs_ram.o regs_te.o regs_funnel.o encoder.o insn.o \
		coresight.o regs_atb.o regs_tmc.o formatter.o sifive_te.o sifive_funnel.o)

# Headers of the C library that the model includes are in kunit/
ccflags-y += -I$(src)/tests/driver/kunit -I$(src)/drivers/ntrace -I$(src)/include/uapi
ccflags-y += -DCONFIG_NTRACE_CORESIGHT -DCONFIG_NTRACE_SIFIVE
ccflags-y += -include $(src)/tests/driver/kunit/kernel.h
ccflags-y += -Wno-missing-prototypes -Wno-missing-declarations -Wno-declaration-after-statement \
	     -Wno-implicit-fallthrough
