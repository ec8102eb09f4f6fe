# SPDX-License-Identifier: GPL-2.0-only
# What the Makefiles of this tree share; each sets TOP and includes it.
#
#   V=1          show the commands
#   DEVBUILD=1   a warning is an error
#   O=DIR        the build folder
#   CFLAGS=...   optimisation and debug information, -O2 -g

O	?= $(TOP)/build
CC	?= gcc
AR	?= ar
CFLAGS	?= -O2 -g

VERSION	:= $(shell cat $(TOP)/VERSION)

PREFIX	?= /usr/local
BINDIR	?= $(PREFIX)/bin
# Debian uses $(PREFIX)/lib/riscv64-linux-gnu, and Fedora uses $(PREFIX)/lib64
LIBDIR	?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR	?= $(PREFIX)/share/man
DOCDIR	?= $(PREFIX)/share/doc/ntrace
INSTALL	?= install

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wno-unused-parameter \
	    -Wno-sign-compare
ifeq ($(DEVBUILD),1)
WARNINGS += -Werror
endif
BUILD_CFLAGS = -std=gnu11 $(WARNINGS) -MMD -MP

# $(call run,CC)command: prints "  CC      file.o" instead of the command
ifeq ($(V),1)
run	=
else
run	= @printf '  %-7s %s\n' $(1) $(patsubst $(O)/%,%,$@);
endif

# $(call library,NAME,HEADER,EXPRESSION,LIBRARY) defines HAVE_NAME if the expression compiles and the library is there.
define library
ifeq ($$(shell printf '\043include <$2>\nint main(void) { return $3; }\n' | \
	$$(CC) -x c - -o /dev/null -l$4 2>/dev/null && echo y),y)
override CPPFLAGS += -DHAVE_$1
LDLIBS	+= -l$4
endif
endef
comma	:= ,

# $(call compile_again,OBJECTS) compiles the objects again if another library is there than at the last time, such as
# libperf after make setup. The Makefile must define OBJDIR and its libraries before, and the target all.
define compile_again
$$(OBJDIR)/found: FORCE
	@mkdir -p $$(@D)
	@echo '$$(filter -DHAVE_%,$$(CPPFLAGS))' | cmp -s - $$@ || echo '$$(filter -DHAVE_%,$$(CPPFLAGS))' >$$@

$1: $$(OBJDIR)/found
endef
