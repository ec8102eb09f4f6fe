# SPDX-License-Identifier: GPL-2.0-only
#
# `make help` lists the targets. Each part has its own Makefile, which accepts
# O= (the build folder) and can be called alone.

O	?= $(CURDIR)/build
PYTHON	?= python3
# Kernels that perf and the driver are built for, by role (lts, new, debug) or version
KVERS	= lts new
MVERS	= $(KVERS)
# Architectures that perf is built for: the board's, and this host's, which decodes recordings of the board
PERF_ARCHS = riscv64 x86_64
MAKEFLAGS += --no-print-directory

export O V DEVBUILD

# Set-up prepares for tests of this size, which is demo, test or all
SIZE	?= test
HARTS	?= 1
KERNEL	?= lts
SETUP	:= tools/setup/setup
BOARD	?=
ROOT	:= $(O)/root

.PHONY: all help setup lib tool python guest-tools guest-static plugin modules perf demo board test test-all test-quick \
	test-long check bench fuzz coverage verify-boot install uninstall clean host-check dist deb html install-perf \
	check-driver check-perf check-lib check-docs check-files check-words \
	everything everything-kernel everything-else

all: lib tool
	@echo "Built $(patsubst $(CURDIR)/%,%,$(O))/bin/ntrace and $(patsubst $(CURDIR)/%,%,$(O))/lib/libntrace.so; make help says what else there is."

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))

#: make                  the library and the command, for this host
#: make demo             boot the emulated board, record a program, explain it (BOARD=k3 or p550)
#: make test             every area of the tests; the last line is "N passed, N failed, N skipped"
#: make test-all         also the large recordings, all topologies and the debug kernel
#: make test-quick       the tests that need neither a board nor downloads, under 2 minutes
#: make test-long        the tests that take over 3 minutes
#: make board            a shell on the emulated board (KERNEL=lts|new|debug|VERSION HARTS=N OUT=DIR)
#: make modules KDIR=... the driver, for a kernel of yours
#: make perf KSRC=...    perf with N-Trace, from a kernel source of yours
#: make install          library, command and manual pages (DESTDIR= PREFIX= LIBDIR=); make uninstall
#: make install-perf     the perf that make perf KSRC= built last, as perf-ntrace; make uninstall removes it
#: make deb              packages of Debian in build/deb (KSRC=... or PERF=... also perf-ntrace); make dist: an archive
#: make html             the documents as pages in build/html, by Sphinx (python3-sphinx)
#: make check            static checks; in parts: check-{driver,perf,lib,docs,files,words}
#: make bench            speed and cost, printed
#: make fuzz             fuzzers (FUZZ_TIME= seconds each)
#: make coverage         lines of the library that the tests reach
#: make verify-boot      whole boots, decoded and compared with the truth
#: make python           the Python module of recordings in build/python (needs python3-cffi)
#: make setup            only fetch and prepare what make test needs (SIZE=demo|test|all)
#: make clean            remove what was built here; the download cache stays
#:
#: V=1 shows the commands, DEVBUILD=1 makes warnings errors, O=DIR is the build folder.
#: FAST=0 leaves the decoder's fast path out, in this build folder until FAST=1.

setup:
	@$(SETUP) $(SIZE)

# Check for the compiler and the headers of the library and the command, because make alone would only print Error 127
host-check:
	@command -v $(firstword $(CC)) >/dev/null || \
		{ echo "make: no C compiler; on Debian: apt-get install gcc make libdw-dev libzstd-dev" >&2; exit 1; }
	@echo '#include <elfutils/libdwfl.h>' | $(CC) -E -x c - >/dev/null 2>&1 || \
		{ echo "make: no elfutils/libdwfl.h; on Debian: apt-get install libdw-dev" >&2; exit 1; }
	@echo '#include <zstd.h>' | $(CC) -E -x c - >/dev/null 2>&1 || \
		{ echo "make: no zstd.h; on Debian: apt-get install libzstd-dev" >&2; exit 1; }

lib: host-check
	@$(MAKE) -C tools/lib/ntrace O=$(O) all
	@$(MAKE) -C tools/lib/ntrace-elf O=$(O) all

tool: lib
	@$(MAKE) -C tools/ntrace O=$(O) all
	@$(MAKE) -C tools/board/dev O=$(O) all

# Build the command for the guest
guest-tools:
	@$(MAKE) -C tools/ntrace O=$(O)/riscv64 CC=$(ROOT)/bin/riscv64-guest-gcc all
	@$(MAKE) -C tools/board/dev O=$(O)/riscv64 CC=$(ROOT)/bin/riscv64-guest-gcc all

# Build a static command, which records on a board that has no libraries. Static libraries need the newer linker.
guest-static:
	@[ -e $(ROOT)/cross ] || { echo "make: no linker for static programs in $(ROOT)/cross: run make setup" >&2; exit 1; }
	@$(MAKE) -C tools/ntrace O=$(O)/riscv64 CC=$(ROOT)/bin/riscv64-guest-gcc LINUX=$(ROOT)/linux-lts \
		LDFLAGS=-B$(ROOT)/cross/usr/riscv64-linux-gnu/bin static

plugin:
	@$(MAKE) -C tools/board O=$(O) all

# Build the driver for your kernel if KDIR= is given, else for the kernels of the board
modules:
ifdef KDIR
	@O=$(O) KDIR=$(abspath $(KDIR)) drivers/ntrace/build.sh custom
else
	@for k in $(MVERS); do drivers/ntrace/build.sh $$k || exit; done
endif

# Build perf from your kernel source if KSRC= is given, else for the board and this host
perf:
ifdef KSRC
	@KSRC=$(KSRC) tools/perf/build.sh $(or $(KVER),custom) $(or $(ARCH),$(shell uname -m))
else
	@for k in $(KVERS); do for a in $(PERF_ARCHS); do \
		[ "$$k $$a" = "$(WITHOUT_PERF)" ] || tools/perf/build.sh $$k $$a || exit; done; done
endif

# Build all that the tests of a size need. "make test" does not use the debug kernel, and on the kernel "new" it
# records with the perf of "lts".
test-all test-long verify-boot: SIZE = all
everything: setup
	@$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j2) SIZE=$(SIZE) \
		$(if $(filter all,$(SIZE)),MVERS="$(MVERS) debug",WITHOUT_PERF="new riscv64") everything-kernel everything-else
	@[ ! -s $(ROOT)/left-out ] || sed 's/^[^ ]* /make: /' $(ROOT)/left-out >&2

# Build the parts that use a kernel's build system. They keep one processor busy while "everything-else" uses another.
everything-kernel: modules
	@$(if $(filter all,$(SIZE)),$(MAKE) -s -C tests/driver O=$(O) kunit >/dev/null)
	@for k in $(KVERS); do $(MAKE) -s -C tests/driver O=$(O) KVER=$$k guest >/dev/null || exit; done

everything-else: tool guest-tools plugin perf
	@$(MAKE) -s -C selftests/ntrace O=$(O)

# Build only the parts for one kernel, so that the first run takes little time.
demo:
	@$(SETUP) demo
	@$(MAKE) tool guest-tools plugin modules perf KVERS=lts PERF_ARCHS=riscv64
	@tools/board/demo $(BOARD:%=--board %)

board:
	@$(SETUP) qemu sysroot guest kernel-$(KERNEL) linux-$(KERNEL:debug=lts)
	@$(MAKE) guest-tools plugin modules perf KVERS=$(KERNEL:debug=lts) MVERS=$(KERNEL) PERF_ARCHS=riscv64
	@tools/board/board shell --kernel $(KERNEL) --harts $(HARTS) $(if $(OUT),--out $(OUT))

# tests/sizes lists the programs of each size.
test: everything
	@tests/run

# Boot each guest instead of starting it from a snapshot, so that the kernel's addresses and the boot hart differ in
# each run.
test-all: everything
	@BOARD_BOOT=anew tests/run --all

test-quick:
	@$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j2) tool
	@tests/run --quick

test-long: everything
	@tests/run --long

verify-boot: everything
	@tests/run tests/long/board-verify-boot.t

python: tool
	@$(PYTHON) tools/python/build.py $(O)

# Run all checks. Some of them need fewer downloads, and check-docs needs none.
check: setup
	@tests/check

check-driver check-perf:
	@$(SETUP) cross linux-lts linux-new kernel-lts kernel-new
	@tests/check $(@:check-%=%)

check-lib: lib
	@tests/check lib

check-docs: tool
	@tests/check docs

check-files check-words:
	@tests/check $(@:check-%=%)

bench: everything
	@tests/bench

fuzz: lib
	@$(MAKE) -C tests/fuzz O=$(O) fuzz $(if $(FUZZ_TIME),FUZZ_TIME=$(FUZZ_TIME))

coverage:
	@tests/coverage

install: tool
	@$(MAKE) -C tools/lib/ntrace O=$(O) install
	@$(MAKE) -C tools/lib/ntrace-elf O=$(O) install
	@$(MAKE) -C tools/ntrace O=$(O) install
	@$(MAKE) -C tools/board/dev O=$(O) install

# Install perf as perf-ntrace, so that it does not replace the distribution's perf
install-perf: bindir = $(DESTDIR)$(or $(BINDIR),$(or $(PREFIX),/usr/local)/bin)
install-perf: mandir = $(DESTDIR)$(or $(MANDIR),$(or $(PREFIX),/usr/local)/share/man)/man1
install-perf:
	@perf=$$(ls -t $(O)/perf/*/$$(uname -m)/perf 2>/dev/null | head -n 1); \
	[ -n "$$perf" ] || { echo "install-perf: there is no perf; make perf KSRC=/path/to/linux builds one" >&2; exit 1; }; \
	install -d $(bindir) $(mandir) && install -m 755 $$perf $(bindir)/perf-ntrace && \
	install -m 644 Documentation/man/perf-ntrace.1 $(mandir) && echo "install-perf: $(bindir)/perf-ntrace"

uninstall: bindir = $(DESTDIR)$(or $(BINDIR),$(or $(PREFIX),/usr/local)/bin)
uninstall: mandir = $(DESTDIR)$(or $(MANDIR),$(or $(PREFIX),/usr/local)/share/man)/man1
uninstall:
	@rm -f $(bindir)/perf-ntrace $(mandir)/perf-ntrace.1
	@$(MAKE) -C tools/lib/ntrace O=$(O) uninstall
	@$(MAKE) -C tools/lib/ntrace-elf O=$(O) uninstall
	@$(MAKE) -C tools/ntrace O=$(O) uninstall
	@$(MAKE) -C tools/board/dev O=$(O) uninstall

# Make an archive of the tree, under the name that packages expect, in build/dist
DIST	= ntrace-$(shell cat VERSION)
dist:
	@mkdir -p $(O)/dist
	@if git rev-parse --git-dir >/dev/null 2>&1; then git ls-files -z; else find . -path ./build -prune -o -type f -print0; fi | \
		tar --null -T - --transform 's,^\(\./\)*,$(DIST)/,' --sort=name --owner=0 --group=0 --numeric-owner \
			-czf $(O)/dist/$(DIST).tar.gz
	@echo "dist: $(patsubst $(CURDIR)/%,%,$(O))/dist/$(DIST).tar.gz"

# Convert the .rst documents to HTML. A warning is an error.
html:
	@command -v sphinx-build >/dev/null || { echo "html: on Debian: apt-get install python3-sphinx" >&2; exit 1; }
	@sphinx-build -q -W --keep-going -d $(O)/doctrees -b html Documentation $(O)/html
	@echo "html: $(patsubst $(CURDIR)/%,%,$(O))/html/index.html"

# Make Debian packages. perf-ntrace is one of them only if KSRC= names a kernel source, or PERF= a perf built from one.
deb: dist
	@command -v dh dh_dkms >/dev/null || { echo "deb: on Debian: apt-get install debhelper dh-dkms dpkg-dev" >&2; exit 1; }
	@rm -rf $(O)/deb && mkdir -p $(O)/deb && tar -C $(O)/deb -xzf $(O)/dist/$(DIST).tar.gz
	@cd $(O)/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u O -u V -u DEVBUILD \
		KSRC=$(if $(KSRC),$(abspath $(KSRC))) PERF=$(if $(PERF),$(abspath $(PERF))) \
		dpkg-buildpackage -b -us -uc $(if $(KSRC)$(PERF),,-Ppkg.ntrace.noperf) \
		>../log 2>&1 || { tail -n 20 ../log >&2; echo "deb: building the packages failed; the whole log is $(O)/deb/log" >&2; exit 1; }
	@ls $(O)/deb/*.deb | sed 's,^$(CURDIR)/,deb: ,'
	@$(if $(KSRC)$(PERF),:,echo "deb: perf-ntrace was left out; KSRC=/path/to/linux builds it too")

clean:
	@rm -rf $(O)
