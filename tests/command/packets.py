#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Send random packets to `ntrace gdb --stdio`: packets.py SESSIONS|SECONDSs SEED NTRACE ARGUMENTS...

Most packets are valid packets with changes. The stub must not crash, must reply to the last packet, and must not send
the contents of a file that does not belong to the recording. Session N has the seed SEED + N."""
import random
import subprocess
import sys
import threading
import time

VALID = [
    b'qSupported:multiprocess+;swbreak+;xmlRegisters=i386', b'?', b'Hg0', b'Hgp4d2.4d2', b'Hc-1', b'Hcp4d2.0', b'g', b'p20', b'p44',
    b'p47', b'm10000,10', b'm4e5400000004d20,8', b'm4e540000000004d2,8', b'm4e540004d2000000,100', b'm4e540004d2000008,ffff', b'T4d2', b'qC',
    b'qAttached', b'QThreadSuffixSupported', b'vCont?', b'vCont;s:p4d2.4d2', b'vCont;c', b'vCont;c:p4d2.-1', b'vCont;r10554,10900:p4d2.4d2', b'vCont;C05', b'bc', b'bs', b'c', b's', b'S05',
    b'Z0,10554,2', b'Z1,106a0,2', b'Z0,106a0,2;X8,2600442500000000000000001527', b'Z0,106a0,2;X3,220127;X3,220027', b'z0,10554,2', b'Z2,10000,4',
    b'qXfer:features:read:target.xml:0,1000', b'qXfer:threads:read::0,1000', b'qXfer:exec-file:read:4d2:0,1000',
    b'qXfer:libraries:read::0,1000', b'qXfer:libraries-svr4:read::0,1000', b'qXfer:libraries:read::0,1000', b'vFile:setfs:0', b'vFile:open:' + b'/etc/passwd'.hex().encode() + b',0,0',
    b'vFile:pread:0,1000,0', b'vFile:pread:0,1000,ffffffffffffffff', b'vFile:fstat:0', b'vFile:close:0', b'qOffsets',
    b'qRcmd,' + b'goto end'.hex().encode(), b'qRcmd,' + b'goto insn 100'.hex().encode(), b'qRcmd,' + b'goto 0.001'.hex().encode(),
    b'qRcmd,' + b'back 10554 10900'.hex().encode(), b'qRcmd,' + b'calls 100'.hex().encode(), b'G00', b'P20=00', b'X10000,1:a', b'M10000,1:00', b'vMustReplyEmpty', b'qTStatus', b'QStartNoAckMode',
]
SECRET = b'root:x:0:'
PATHS = ['/etc/passwd', '/etc/shadow', '/proc/self/exe', '/proc/self/maps', '/dev/zero', '/', '', '.', '//etc/passwd',
         '/etc/../etc/passwd', 'a' * 4095, 'a' * 4096]
NUMBERS = [0, 1, 2, 7, 8, 0x20, 0xfff, 0x1000, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 47, 0x106a0, 0x10554,
           0x4e5400 << 40, 0x4e54 << 48 | 0x4d2 << 24, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8, 1 << 64]
THREADS = [b'p4d2.4d2', b'p4d2.-1', b'p-1.-1', b'p4d2', b'p0.0', b'-1', b'0', b'4d2', b'p4d2.4d3', b'p1.1', b'p.', b'pffffffffffffffff.1']


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


def number(rng):
    return b'%x' % (rng.choice(NUMBERS) if rng.randrange(3) else rng.randrange(1 << rng.randrange(1, 65)))


def expression(rng):
    """Return random bytecode of a breakpoint's condition, with valid operations and operands, loops, and some random
    bytes"""
    code = bytearray()
    for _ in range(rng.randrange(1, 40)):
        kind = rng.randrange(8)
        if kind == 0:
            code += bytes((rng.choice((0x20, 0x21)),)) + rng.randrange(0, 2 * len(code) + 4).to_bytes(2, 'big')
        elif kind == 1:
            code += b'\x26' + rng.choice((32, 68, 69, 70, 71, 0, 72, 65535)).to_bytes(2, 'big')
        elif kind in (2, 3):
            width = rng.randrange(4)
            code += bytes((0x22 + width,)) + rng.randbytes(1 << width)
        elif kind == 4:
            code += bytes((rng.choice((0x16, 0x2a)), rng.choice((0, 1, 8, 63, 64, 65, 255))))
        elif kind == 5:
            code += bytes((0x28,)) * rng.choice((1, 2, 70))
        elif kind == 6:
            code.append(rng.randrange(256))
        else:
            code.append(rng.randrange(2, 0x2c))
    return bytes(code + b'\x27' * rng.randrange(2))


def condition(rng):
    code = expression(rng)
    size = len(code) + rng.choice((0, 0, 0, 0, 0, 1, -1, 4096))
    return b'%s%x,%s' % (rng.choice((b';X', b';X', b';X', b'X', b';Y')), max(size, 0), code.hex().encode())


def valid(rng):
    """Return a packet with random arguments"""
    kind = rng.randrange(12)
    if kind < 5:
        return rng.choice(VALID)
    if kind == 5:
        return b'Z%d,%x,%x' % (rng.randrange(2), rng.choice((0x106a0, 0x10670, 0x1069a, 0x10554)), 2) + b''.join(
            condition(rng) for _ in range(rng.randrange(4)))
    if kind == 6:
        return b'vCont' + b''.join(b';' + rng.choice((b'c', b's', b'C05', b'S05', b't', b'r' + number(rng) + b',' + number(rng))) +
                                   (b':' + rng.choice(THREADS) if rng.randrange(2) else b'') for _ in range(rng.randrange(1, 5)))
    if kind == 7:
        return b'qXfer:%s:read:%s:%s,%s' % (
            rng.choice((b'features', b'threads', b'exec-file', b'libraries', b'libraries-svr4', b'auxv')),
            rng.choice((b'', b'target.xml', b'4d2', b'::', b'f' * 5000)), number(rng), number(rng))
    if kind == 8:
        return b'vFile:open:%s,%s,%s' % (rng.choice(PATHS).encode().hex().encode(), number(rng), number(rng))
    if kind == 9:
        return b'vFile:%s:%s,%s,%s' % (rng.choice((b'pread', b'close', b'fstat', b'readlink', b'pwrite', b'unlink')),
                                       b'%x' % rng.randrange(34), number(rng), number(rng))
    if kind == 10:
        return rng.choice((b'm', b'z0,', b'z1,', b'p', b'T', b'Hg', b'Hc')) + rng.choice((number(rng), rng.choice(THREADS))) + b',' + number(rng)
    return b'qRcmd,' + rng.choice((b'goto insn %d', b'goto %d', b'goto 0.%d', b'back %x 10900', b'calls %d', b'goto %d.999999999999')).replace(
        b'%d', b'%d' % rng.randrange(1 << rng.randrange(1, 70))).replace(b'%x', number(rng)).hex().encode()


def stream(rng, nr):
    for _ in range(nr):
        kind = rng.randrange(40)
        packet = changed(rng, valid(rng))
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
        elif kind < 8:
            # Insert bytes 3, which gdb sends for Control-C, inside the packet and directly after it
            data = frame(packet)
            at = rng.randrange(len(data))
            yield data[:at] + b'\3' * rng.randrange(3) + data[at:] + b'\3' * rng.randrange(3)
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
    if child.returncode != (2 if b'Use gdb' in errors[0] else 0) or b'runtime error' in errors[0] or b'$1#31' not in replies[0] or SECRET in replies[0] or SECRET.hex().encode() in replies[0]:
        print('# status %d' % child.returncode, errors[0][-3000:].decode(errors='replace').replace('\n', '\n# '), replies[0][-100:])
        return False
    return True


def main():
    limit, seed, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    end, nr = time.time() + float(limit[:-1]) if limit.endswith('s') else None, 0
    while time.time() < end if end else nr < int(limit):
        if not session(random.Random(seed + nr), command):
            print('# the seed is %d' % (seed + nr))
            return 1
        nr += 1
    print('# %d sessions of 400 packets' % nr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
