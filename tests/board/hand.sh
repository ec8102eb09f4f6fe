# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# by_hand START BYTES COMMAND: print a script for the guest that traces COMMAND without a driver.
# The script programs the encoder of the first hart of topology direct, whose sink writes to a ring
# of BYTES in system memory at START. At the end, the script prints trRamWPLow and trRamControl.
by_hand() {
	cat <<-EOT
	te=0x18000000 ram=0x18001000
	rd() { busybox devmem \$((\$1 + \$2)) 32; }
	wr() { busybox devmem \$((\$1 + \$2)) 32 "\$3"; }
	wr \$te 0 1; wr \$ram 0 0x11; wr \$te 8 0; wr \$te 0xc 0; wr \$te 0x40 0
	wr \$ram 0x14 0; wr \$ram 0x1c 0; wr \$ram 0x24 0
	wr \$ram 0x10 $1; wr \$ram 0x18 \$(($1 + $2 - 64)); wr \$ram 0x20 $1; wr \$ram 0 0x13
	wr \$te 0 0x01000061; wr \$te 0 0x01000067
	$3
	wr \$te 0 0x01000061; wr \$ram 0 0x11
	echo "wp \$(rd \$ram 0x20)"; echo "control \$(rd \$ram 0)"; wr \$ram 0 0; wr \$te 0 0
	EOT
}
