# SPDX-License-Identifier: GPL-2.0-only
#
# The front door: `make help` says what there is. Each part has a Makefile of
# its own, which takes O= (the build folder) and can be called alone.

O	?= $(CURDIR)/build
KVERS	:= 6.12 7.2
# kernels that the driver is built for: those, and the one that looks for faults
MVERS	= $(KVERS) debug
MAKEFLAGS += --no-print-directory

export O

HARTS	?= 1
KERNEL	?= 6.12
SETUP	:= tools/setup/setup
BOARD	:= tools/board/board
ROOT	:= $(O)/root

.PHONY: all help setup lib tool guest-tools plugin modules perf demo board test \
	test-long check bench fuzz coverage verify-boot install clean \
	everything everything-kernel everything-else

all: lib tool

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))

#: make                  the library and the command, for this host
#: make demo             boot the emulated board, record a program, print its branches
#: make test             every test; the last line is "N passed, N failed, N skipped"
#: make test-long        the tests that take over 3 minutes
#: make board            a shell on the emulated board (KERNEL=6.12|7.2|debug HARTS=N)
#: make modules KDIR=... the driver, for a kernel of yours
#: make perf KSRC=...    perf with N-Trace, from a kernel source of yours
#: make install          library, command and manual pages (DESTDIR= PREFIX=)
#: make check            static checks: checkpatch, sparse, binding schema, patches
#: make bench            speed and cost, printed
#: make fuzz             fuzzers (FUZZ_TIME= seconds each)
#: make coverage         lines of the library that the tests reach
#: make verify-boot      whole boots, decoded and compared with the truth
#: make setup            only fetch and prepare what the above need
#: make clean            remove what was built here; the download cache stays

setup:
	@$(SETUP) all

lib:
	@$(MAKE) -C tools/lib/ntrace O=$(O) all

tool: lib
	@$(MAKE) -C tools/ntrace O=$(O) all

# the command, for the guest
guest-tools:
	@$(MAKE) -C tools/ntrace O=$(O)/riscv64 CC=$(ROOT)/bin/riscv64-guest-gcc all

plugin:
	@$(MAKE) -C tools/board O=$(O) all

# for a kernel of yours with KDIR=, else for the kernels of the board
modules:
ifdef KDIR
	@O=$(O) KDIR=$(KDIR) CROSS_COMPILE=$(CROSS_COMPILE) drivers/ntrace/build.sh custom
else
	@for k in $(MVERS); do drivers/ntrace/build.sh $$k >/dev/null || exit; done
endif

# from a kernel source of yours with KSRC=, else for board and host
perf:
ifdef KSRC
	@tools/perf/build.sh $(or $(KVER),$(shell sed -n 's/^VERSION = //p;s/^PATCHLEVEL = /./p' $(KSRC)/Makefile | tr -d '\n')) $(or $(ARCH),$(shell uname -m))
else
	@for k in $(KVERS); do for a in riscv64 x86_64; do tools/perf/build.sh $$k $$a || exit; done; done
endif

# What the kernels' build systems make, which is one processor's work, beside the rest
everything: setup
	@$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j2) everything-kernel everything-else

everything-kernel: modules
	@$(MAKE) -C tests/driver O=$(O) kunit >/dev/null
	@for k in $(KVERS); do $(MAKE) -s -C tests/driver O=$(O) KVER=$$k guest >/dev/null || exit; done

everything-else: tool guest-tools plugin perf
	@$(MAKE) -s -C selftests/ntrace O=$(O)

# Only what one kernel needs, so that the first time is short.
demo:
	@$(SETUP) qemu sysroot guest kernel-6.12 linux-6.12
	@$(MAKE) tool guest-tools plugin modules perf KVERS=6.12 MVERS=6.12
	@tools/board/demo

board:
	@$(SETUP) qemu sysroot guest kernel-$(KERNEL) linux-$(KERNEL:debug=6.12)
	@$(MAKE) guest-tools plugin modules perf KVERS=$(KERNEL:debug=6.12) MVERS=$(KERNEL)
	@$(BOARD) shell --kernel $(KERNEL) --harts $(HARTS)

test: everything
	@tests/run

test-long: everything
	@tests/run tests/long/*.t

verify-boot: everything
	@tests/run tests/long/board-verify-boot.t

check: setup
	@tests/check

bench: everything
	@tests/bench

fuzz: lib
	@$(MAKE) -C tests/fuzz O=$(O) fuzz $(if $(FUZZ_TIME),FUZZ_TIME=$(FUZZ_TIME))

coverage:
	@tests/coverage

install: tool
	@$(MAKE) -C tools/lib/ntrace O=$(O) install
	@$(MAKE) -C tools/ntrace O=$(O) install

clean:
	rm -rf $(O)
