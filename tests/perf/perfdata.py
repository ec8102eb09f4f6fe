# SPDX-License-Identifier: GPL-2.0-only
"""Write perf.data files with N-Trace in them, as perf record would on a board.

The layout is that of tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h. Everything is little endian.
"""
import struct

TYPE = 42                       # of the PMU "ntrace"
CONTEXT, TIMESTAMP = 1, 2       # NTRACE_CONFIG_*
MAGIC = 0x3145434152544e00      # NTRACE_INFO_MAGIC_VALUE

RECORD_MMAP, RECORD_COMM, RECORD_EXIT, RECORD_SAMPLE, RECORD_MMAP2, RECORD_AUX = 1, 3, 4, 9, 10, 11
RECORD_ITRACE_START, RECORD_SWITCH = 12, 14
RECORD_FINISHED_ROUND, RECORD_AUXTRACE_INFO, RECORD_AUXTRACE = 68, 70, 71
MISC_USER, MISC_GUEST_KERNEL = 2, 4

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_CPU = 1, 2, 4, 1 << 7
SAMPLE_IDENTIFIER, SAMPLE_AUX = 1 << 16, 1 << 20
SAMPLE = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER
SAMPLE_WITH_AUX = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_AUX | SAMPLE_IDENTIFIER
ATTR_SIZE = 128                 # PERF_ATTR_SIZE_VER7

AUX_TRUNCATED, AUX_OVERWRITE, AUX_PARTIAL = 1, 2, 4


def attr(type_, config, flags, sample_type=SAMPLE, aux_sample_size=0):
    fields = struct.pack('<IIQQQQQ', type_, ATTR_SIZE, config, 1, sample_type, 0, flags)
    return (fields + bytes(112 - len(fields)) +
            struct.pack('<I', aux_sample_size)).ljust(ATTR_SIZE, b'\0')


class File:
    """Records in the order they are added; save() puts the headers around."""

    def __init__(self, config=CONTEXT | TIMESTAMP, cpus=1, flags=2 | 4, hz=10000000,
                 src_bits=0, version=1 << 32, magic=MAGIC, cpu_words=9, header_words=10,
                 nr_cpus=None, cut=0, arch='riscv64', info=None, aux_sample_size=0):
        """@info: (type, words) of another kind of trace's PERF_RECORD_AUXTRACE_INFO"""
        self.data, self.index, self.arch, self.aux_sample_size = b'', [], arch, aux_sample_size
        self.config, self.cpus = config, cpus
        if info:
            self.record(RECORD_AUXTRACE_INFO, 0, struct.pack('<II', info[0], 0) +
                        struct.pack(f'<{len(info[1])}Q', *info[1]))
            return
        # ns = ticks * mult >> shift, of a 10 MHz counter
        words = [magic, version, header_words, cpu_words,
                 cpus if nr_cpus is None else nr_cpus, TYPE, flags, 10, 102400, 0]
        for cpu in range(cpus):
            words += [cpu, 0x1001, config, src_bits, cpu, 64, hz, 0, 64]
        words = words[:len(words) - cut]
        self.record(RECORD_AUXTRACE_INFO, 0,
                    struct.pack('<II', 0x4e54, 0) + struct.pack(f'<{len(words)}Q', *words))

    def record(self, type_, misc, body):
        body += bytes(-len(body) % 8)
        self.data += struct.pack('<IHH', type_, misc, 8 + len(body)) + body

    @staticmethod
    def trailer(pid, tid, time, cpu, id_):
        return struct.pack('<IIQIIQ', pid, tid, time, cpu, 0, id_)

    def comm(self, pid, name, time=0, cpu=0, exec_=False):
        text = name.encode() + b'\0'
        text += bytes(-len(text) % 8)
        self.record(RECORD_COMM, MISC_USER | (1 << 13 if exec_ else 0),
                    struct.pack('<II', pid, pid) + text + self.trailer(pid, pid, time, cpu, 2))

    def mmap(self, pid, addr, size, offset, name, time=0, cpu=0):
        text = name.encode() + b'\0'
        text += bytes(-len(text) % 8)
        self.record(RECORD_MMAP2, MISC_USER,
                    struct.pack('<IIQQQIIQQII', pid, pid, addr, size, offset, 0, 0, 0, 0, 5, 2)
                    + text + self.trailer(pid, pid, time, cpu, 2))

    def guest_kernel(self, addr, size=0x1000):
        """Where a guest's is, as perf kvm --guest record --guestkallsyms writes it down"""
        self.record(RECORD_MMAP, MISC_GUEST_KERNEL, struct.pack('<iIQQQ', 0, 0, addr, size, addr) +
                    b'[guest.kernel.kallsyms]_stext\0\0\0' + self.trailer(0, 0, 0, 0, 2))

    def switch_in(self, pid, tid, time, cpu=0):
        self.record(RECORD_SWITCH, MISC_USER, self.trailer(pid, tid, time, cpu, 2))

    def exit(self, pid, time, cpu=0):
        self.record(RECORD_EXIT, MISC_USER, struct.pack('<IIIIQ', pid, 0, pid, 0, time)
                    + self.trailer(pid, pid, time, cpu, 2))

    def aux(self, offset, size, time, pid, cpu=0, flags=0):
        self.record(RECORD_AUX, 0, struct.pack('<QQQ', offset, size, flags)
                    + self.trailer(pid, pid, time, cpu, 1))

    def sample(self, trace, ip, time, pid):
        """Of a third event, which has no CPU in its samples"""
        self.record(RECORD_SAMPLE, MISC_USER, struct.pack('<QQIIQQ', 3, ip, pid, pid, time, len(trace))
                    + trace)

    def trace(self, data, offset=0, cpu=0, tid=0xffffffff):
        data += bytes(-len(data) % 8)
        self.index.append((len(self.data), 48))
        self.data += struct.pack('<IHHQQQIIII', RECORD_AUXTRACE, 0, 48, len(data), offset, 0,
                                 max(cpu, 0), tid & 0xffffffff, cpu & 0xffffffff, 0) + data

    def finished_round(self):
        self.record(RECORD_FINISHED_ROUND, 0, b'')

    def save(self, path):
        attrs = [attr(TYPE, self.config, 1 << 18), attr(1, 9, 1 << 18 | 1 << 8 | 1 << 9 | 1 << 23)]
        if self.aux_sample_size:
            attrs.append(attr(1, 1, 1 << 18, SAMPLE_WITH_AUX, self.aux_sample_size))
        ids = [struct.pack('<Q', n + 1) for n in range(len(attrs))]
        at = 104
        id_at = at
        at += sum(len(i) for i in ids)
        attr_at = at
        attr_bytes = b''
        for a, i in zip(attrs, ids):
            attr_bytes += a + struct.pack('<QQ', id_at, len(i))
            id_at += len(i)
        at += len(attr_bytes)
        data_at = at
        # features HEADER_ARCH (6), so that it is known to be of another machine,
        # HEADER_NRCPUS (7) and HEADER_AUXTRACE (18), where each PERF_RECORD_AUXTRACE is
        arch = struct.pack('<I', 64) + self.arch.encode().ljust(64, b'\0')
        nrcpus = struct.pack('<II', self.cpus, self.cpus)
        end = data_at + len(self.data)
        index = struct.pack('<Q', len(self.index))
        for at, size in self.index:
            index += struct.pack('<QQ', data_at + at, size)
        features, at = b'', end + 3 * 16
        for section in (arch, nrcpus, index):
            features += struct.pack('<QQ', at, len(section))
            at += len(section)
        header = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, ATTR_SIZE + 16, attr_at, len(attr_bytes),
                                           data_at, len(self.data), 0, 0)
        header += struct.pack('<QQQQ', 1 << 6 | 1 << 7 | 1 << 18, 0, 0, 0)
        with open(path, 'wb') as f:
            f.write(header + b''.join(ids) + attr_bytes + self.data
                    + features + arch + nrcpus + index)
