#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Send random packets to `ntrace gdb --stdio`: packets.py SECONDS SEED NTRACE ARGUMENTS...

Most packets are valid ones with changes. The stub must not crash, must reply to the last packet, and must not send
the contents of a file that does not belong to the recording."""
import random
import subprocess
import sys
import threading
import time

VALID = [
    b'qSupported:multiprocess+;swbreak+;xmlRegisters=i386', b'?', b'Hg0', b'Hgp4d2.4d2', b'Hc-1', b'Hcp4d2.0', b'g', b'p20', b'p44',
    b'p47', b'm10000,10', b'm4e5400000004d20,8', b'm4e540000000004d2,8', b'm4e540004d2000000,100', b'm4e540004d2000008,ffff', b'T4d2', b'qC',
    b'qAttached', b'vCont?', b'vCont;s:p4d2.4d2', b'vCont;c', b'vCont;c:p4d2.-1', b'vCont;r10554,10900:p4d2.4d2', b'vCont;C05', b'bc', b'bs', b'c', b's', b'S05',
    b'Z0,10554,2', b'Z1,106a0,2', b'Z0,106a0,2;X8,2600442500000000000000001527', b'Z0,106a0,2;X3,220127;X3,220027', b'z0,10554,2', b'Z2,10000,4',
    b'qXfer:features:read:target.xml:0,1000', b'qXfer:threads:read::0,1000', b'qXfer:exec-file:read:4d2:0,1000',
    b'qXfer:libraries:read::0,1000', b'qXfer:libraries-svr4:read::0,1000', b'qXfer:libraries:read::0,1000', b'vFile:setfs:0', b'vFile:open:' + b'/etc/passwd'.hex().encode() + b',0,0',
    b'vFile:pread:0,1000,0', b'vFile:pread:0,1000,ffffffffffffffff', b'vFile:fstat:0', b'vFile:close:0', b'qOffsets',
    b'qRcmd,' + b'goto end'.hex().encode(), b'qRcmd,' + b'goto insn 100'.hex().encode(), b'qRcmd,' + b'goto 0.001'.hex().encode(),
    b'qRcmd,' + b'back 10554 10900'.hex().encode(), b'G00', b'P20=00', b'X10000,1:a', b'M10000,1:00', b'vMustReplyEmpty', b'qTStatus', b'QStartNoAckMode',
]
SECRET = b'root:x:0:'


def escaped(data):
    out = bytearray()
    for c in data:
        out += bytes((0x7d, c ^ 0x20)) if c in b'#$}*' else bytes((c,))
    return bytes(out)


def frame(data):
    data = escaped(data)
    return b'$' + data + b'#%02x' % (sum(data) & 255)


def changed(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(6)
        if what == 0 and data:
            del data[at % len(data)]
        elif what == 1:
            data.insert(at, rng.choice(b'0123456789abcdefp.,;:-XF\0\xff#$}*'))
        elif what == 2 and data:
            data[at % len(data)] = rng.randrange(256)
        elif what == 3:
            data[at:at] = data[:rng.randrange(len(data) + 1)]
        elif what == 4:
            data[at:at] = b'f' * rng.choice((1, 8, 16, 17, 300))
        elif data:
            del data[at % len(data):]
    return bytes(data)


def stream(rng, nr):
    for _ in range(nr):
        kind = rng.randrange(40)
        packet = changed(rng, rng.choice(VALID))
        # Do not send packets that end the connection
        if packet[:1] in b'Dk' or packet[:5] == b'vKill':
            continue
        if kind == 0:
            yield bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
        elif kind == 1:
            yield b'$' + escaped(packet) + b'#00'
        elif kind == 2:
            yield frame(packet * rng.choice((1, 300, 3000)))
        elif kind == 3:
            yield b'\3'
        else:
            yield frame(packet)


def session(rng, command):
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    replies, errors = [], []
    readers = [threading.Thread(target=lambda: replies.append(child.stdout.read())),
               threading.Thread(target=lambda: errors.append(child.stderr.read()))]
    for reader in readers:
        reader.start()
    try:
        for data in stream(rng, 400):
            child.stdin.write(data)
        child.stdin.write(b'#00' + frame(b'qAttached') + frame(b'D'))
        child.stdin.close()
    except BrokenPipeError:
        pass
    child.wait(timeout=300)
    for reader in readers:
        reader.join()
    if child.returncode or b'runtime error' in errors[0] or b'$1#31' not in replies[0] or SECRET in replies[0] or SECRET.hex().encode() in replies[0]:
        print('# status %d' % child.returncode, errors[0][-3000:].decode(errors='replace').replace('\n', '\n# '), replies[0][-100:])
        return False
    return True


def main():
    seconds, seed, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    end, nr = time.time() + seconds, 0
    while time.time() < end or not nr:
        if not session(random.Random(seed + nr), command):
            print('# the seed is %d' % (seed + nr))
            return 1
        nr += 1
    print('%d sessions of 400 packets' % nr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
