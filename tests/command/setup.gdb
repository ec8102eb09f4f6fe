# SPDX-License-Identifier: GPL-2.0-only
# tests/command/setup.t runs these commands after the script of `ntrace setup`. QEMU's gdb stub cannot access
# registers that a plugin emulates. Therefore hart 0 (thread 1) executes each access while no other hart runs.
set pagination off
set remotetimeout 60
set breakpoint always-inserted on
break debug_done
define ntrace_write
  set $a0 = $arg0
  set $a1 = $arg1
  set $pc = debug_store
  continue
end
define ntrace_read
  set $a0 = $arg0
  set $pc = debug_load
  continue
  set $ntrace_value = (unsigned int)$a1
end
tbreak ready
continue
set {int}&go = 1
define debug_begin
  thread 1
  set scheduler-locking on
end
debug_begin
ntrace_start
set $pc = debug_wait
set scheduler-locking off
tbreak finished
continue
debug_begin
ntrace_save dump
set $a0 = 0
set $pc = end
detach
