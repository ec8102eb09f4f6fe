# SPDX-License-Identifier: GPL-2.0-only
"""Write perf.data files that contain N-Trace, like recordings of perf record on a board.

The layout is that of tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h. Everything is little endian.
"""
import struct

TYPE = 42                       # type number of the PMU "ntrace"
CONTEXT, TIMESTAMP, FIRMWARE = 1, 2, 1 << 16       # bits NTRACE_CONFIG_* of attr.config
MAGIC = 0x3145434152544e00      # NTRACE_INFO_MAGIC_VALUE

RECORD_MMAP, RECORD_COMM, RECORD_EXIT, RECORD_SAMPLE, RECORD_MMAP2, RECORD_AUX = 1, 3, 4, 9, 10, 11
RECORD_ITRACE_START, RECORD_SWITCH = 12, 14
RECORD_HEADER_ATTR, RECORD_FINISHED_ROUND, RECORD_ID_INDEX = 64, 68, 69
RECORD_AUXTRACE_INFO, RECORD_AUXTRACE = 70, 71
RECORD_TIME_CONV, RECORD_FINISHED_INIT = 79, 82
RECORD_HEADER_FEATURE, RECORD_COMPRESSED = 80, 81
MISC_USER, MISC_GUEST_KERNEL, MISC_GUEST_USER, MISC_MMAP_BUILD_ID = 2, 4, 5, 1 << 14

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_CPU = 1, 2, 4, 1 << 7
SAMPLE_IDENTIFIER, SAMPLE_AUX = 1 << 16, 1 << 20
SAMPLE = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER
SAMPLE_WITH_AUX = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_AUX | SAMPLE_IDENTIFIER
ATTR_SIZE = 128                 # PERF_ATTR_SIZE_VER7

AUX_TRUNCATED, AUX_OVERWRITE, AUX_PARTIAL, AUX_COLLISION, AUX_FRAMES = 1, 2, 4, 8, 0x100
CPU_SRC_BITS, CPU_SRC_ID, CPU_TRACE_ID = 3, 4, 9   # NTRACE_INFO_CPU_*
# HOSTNAME, OSRELEASE, VERSION, CPUDESC, CPUID
FEATURES_TEXT = 3, 4, 5, 8, 9
FEATURE_ARCH, FEATURE_NRCPUS, FEATURE_CMDLINE, FEATURE_AUXTRACE, FEATURE_COMPRESSED = 6, 7, 11, 18, 27


def attr(type_, config, flags, sample_type=SAMPLE, aux_sample_size=0):
    fields = struct.pack('<IIQQQQQ', type_, ATTR_SIZE, config, 1, sample_type, 0, flags)
    return (fields + bytes(112 - len(fields)) +
            struct.pack('<I', aux_sample_size)).ljust(ATTR_SIZE, b'\0')


class File:
    """A recording with records in the order in which they are added. save() adds the headers."""

    def __init__(self, config=CONTEXT | TIMESTAMP, cpus=1, flags=2 | 4, hz=10000000,
                 src_bits=0, version=1 << 32, magic=MAGIC, cpu_words=9, header_words=10,
                 nr_cpus=None, cut=0, arch='riscv64', info=None, ts_width=64, aux_sample_size=0, switches=False, guests=False, unlike=None, pmu_type=TYPE):
        """@info: (type, words) of a PERF_RECORD_AUXTRACE_INFO for another kind of trace. @unlike: metadata that
        differs for some CPUs, as {CPU: {word: value}}"""
        self.data, self.index, self.arch, self.aux_sample_size = bytearray(), [], arch, aux_sample_size
        self.config, self.cpus, self.switches, self.guests = config, cpus, switches, guests
        self.host()
        if info:
            self.record(RECORD_AUXTRACE_INFO, 0, struct.pack('<II', info[0], 0) +
                        struct.pack(f'<{len(info[1])}Q', *info[1]))
            return
        # The time in ns is ticks * mult >> shift, with these parameters of a 10 MHz counter
        words = [magic, version, header_words, cpu_words,
                 cpus if nr_cpus is None else nr_cpus, pmu_type, flags, 10, 102400, 0]
        for cpu in range(cpus):
            words += [cpu, 0x1001, config, src_bits, cpu, ts_width, hz, 0, 64]
            # The next five words are the trace ID, the dialect, the number of address bits, and two words of the
            # clock. All five are 0. All further words are 7, and readers of this version ignore them
            words += ([0] * 5 + [7] * cpu_words)[:cpu_words - 9]
            for word, value in (unlike or {}).get(cpu, {}).items():
                words[word - cpu_words] = value
        words = words[:len(words) - cut]
        self.record(RECORD_AUXTRACE_INFO, 0,
                    struct.pack('<II', 0x4e54, 0) + struct.pack(f'<{len(words)}Q', *words))

    def record(self, type_, misc, body):
        body += bytes(-len(body) % 8)
        self.data += struct.pack('<IHH', type_, misc, 8 + len(body)) + body

    @staticmethod
    def trailer(pid, tid, time, cpu, id_):
        return struct.pack('<IIQIIQ', pid, tid, time, cpu, 0, id_)

    def guest(self, machine, vcpu=0):
        """After this call, events belong to a guest that process @machine runs (perf inject --guest-data)"""
        self.record(RECORD_ID_INDEX, 0, struct.pack('<QQQQQQQ', 1, 3, 0, vcpu, machine, machine, vcpu))
        self.event_id, self.misc = 3, MISC_GUEST_USER

    def host(self):
        self.event_id, self.misc = 2, MISC_USER

    def time_conv(self, zero):
        """Add the parameters of the clock: ns = ticks * mult >> shift, and @zero, for a 10 MHz counter"""
        self.record(RECORD_TIME_CONV, 0, struct.pack('<QQQQQBB', 10, 102400, zero, 0, 2 ** 64 - 1, 1, 0))

    def comm(self, pid, name, time=0, cpu=0, exec_=False):
        text = name.encode() + b'\0'
        text += bytes(-len(text) % 8)
        self.record(RECORD_COMM, self.misc | (1 << 13 if exec_ else 0),
                    struct.pack('<II', pid, pid) + text + self.trailer(pid, pid, time, cpu, self.event_id))

    def mmap(self, pid, addr, size, offset, name, time=0, cpu=0, build_id=b''):
        text = name.encode() + b'\0'
        text += bytes(-len(text) % 8)
        # a record with a build ID has the size and the bytes of this ID instead of the device and inode numbers
        self.record(RECORD_MMAP2, self.misc | (MISC_MMAP_BUILD_ID if build_id else 0),
                    struct.pack('<IIQQQB3x20sII', pid, pid, addr, size, offset, len(build_id), build_id, 5, 2)
                    + text + self.trailer(pid, pid, time, cpu, self.event_id))

    def guest_kernel(self, addr, size=0x1000):
        """Add the position of a guest's kernel, as perf kvm --guest record --guestkallsyms records it"""
        self.record(RECORD_MMAP, MISC_GUEST_KERNEL, struct.pack('<iIQQQ', 0, 0, addr, size, addr) +
                    b'[guest.kernel.kallsyms]_stext\0\0\0' + self.trailer(0, 0, 0, 0, self.event_id))

    def kernel(self, addr, size=0x1000):
        """Add the map of the kernel. MISC_KERNEL is 1. The map belongs to no process, and is valid on all CPUs"""
        self.record(RECORD_MMAP, 1, struct.pack('<iIQQQ', -1, 0, addr, size, addr) +
                    b'[kernel.kallsyms]_stext\0' + self.trailer(0, 0, 0, 0, self.event_id))

    def switch_in(self, pid, tid, time, cpu=0):
        self.record(RECORD_SWITCH, self.misc, self.trailer(pid, tid, time, cpu, self.event_id))

    def switch_out(self, pid, tid, time, cpu=0):
        self.record(RECORD_SWITCH, self.misc | 1 << 13, self.trailer(pid, tid, time, cpu, self.event_id))

    def exit(self, pid, time, cpu=0):
        self.record(RECORD_EXIT, self.misc, struct.pack('<IIIIQ', pid, 0, pid, 0, time)
                    + self.trailer(pid, pid, time, cpu, self.event_id))

    def aux(self, offset, size, time, pid, cpu=0, flags=0):
        self.record(RECORD_AUX, 0, struct.pack('<QQQ', offset, size, flags)
                    + self.trailer(pid, pid, time, cpu, 1))

    def sample(self, trace, ip, time, pid):
        """Add a sample of a third event, which has no CPU in its samples"""
        self.record(RECORD_SAMPLE, MISC_USER, struct.pack('<QQIIQQ', 3, ip, pid, pid, time, len(trace))
                    + trace)

    def trace(self, data, offset=0, cpu=0, tid=0xffffffff):
        data += bytes(-len(data) % 8)
        self.index.append((len(self.data), 48))
        self.data += struct.pack('<IHHQQQIIII', RECORD_AUXTRACE, 0, 48, len(data), offset, 0,
                                 max(cpu, 0), tid & 0xffffffff, cpu & 0xffffffff, 0) + data

    def per_thread(self, tid):
        """Assign the added trace to the buffer of a thread, as perf record --per-thread does"""
        for at, _ in self.index:
            struct.pack_into('<III', self.data, at + 32, 0, tid, 0xffffffff)
        return self

    def finished_init(self):
        self.record(RECORD_FINISHED_INIT, 0, b'')

    def finished_round(self):
        self.record(RECORD_FINISHED_ROUND, 0, b'')

    def attrs(self):
        flags = 1 << 18 | 1 << 8 | 1 << 9 | 1 << 23 | self.switches << 26
        result = [attr(TYPE, self.config, 1 << 18), attr(1, 9, flags)]
        if self.guests:
            result.append(attr(1, 9, flags))
        if self.aux_sample_size:
            result.append(attr(1, 1, 1 << 18, SAMPLE_WITH_AUX, self.aux_sample_size))
        return result

    def features(self):
        """Add the features ARCH, which shows that a recording is from another machine, NRCPUS, and the features that
        JSON output contains"""
        result = {n: struct.pack('<I', 64) + b'board'.ljust(64, b'\0') for n in FEATURES_TEXT}
        result[FEATURE_ARCH] = struct.pack('<I', 64) + self.arch.encode().ljust(64, b'\0')
        result[FEATURE_NRCPUS] = struct.pack('<II', self.cpus, self.cpus)
        words = [b'perf', b'record', b"it's a b"]
        result[FEATURE_CMDLINE] = struct.pack('<I', len(words)) + b''.join(
            struct.pack('<I', 16) + word.ljust(16, b'\0') for word in words)
        return result

    def records(self):
        """Return (type, bytes) of each record. The bytes of a PERF_RECORD_AUXTRACE include its trace"""
        at = 0
        while at < len(self.data):
            type_, _, size = struct.unpack_from('<IHH', self.data, at)
            if type_ == RECORD_AUXTRACE:
                size += struct.unpack_from('<Q', self.data, at + 8)[0]
            yield type_, bytes(self.data[at:at + size])
            at += size

    def compress(self):
        """Compress records as perf record -z does. The kernel's output is in one stream of zstd, which consists of
        uncompressed blocks here"""
        out, index, events, begun = b'', [], b'', False
        for type_, record in [*self.records(), (RECORD_FINISHED_ROUND, b'')]:
            if type_ < RECORD_HEADER_ATTR:
                events += record
                continue
            for n in range(0, len(events), 32768):
                chunk = events[n:n + 32768]
                # magic number, no options and a window of 2 MiB. Blocks follow, and no block is marked as the last
                # block
                chunk = (b'' if begun else b'\x28\xb5\x2f\xfd\0\x58') + \
                    struct.pack('<I', len(chunk) << 3)[:3] + chunk
                out += struct.pack('<IHH', RECORD_COMPRESSED, 0, 8 + len(chunk)) + chunk
                begun = True
            events = b''
            if type_ == RECORD_AUXTRACE:
                index.append((len(out), 48))
            out += record
        return out, index

    def save(self, path, pipe=False, compressed=False):
        data, index = self.compress() if compressed else (bytes(self.data), self.index)
        features = self.features()
        if compressed:
            features[FEATURE_COMPRESSED] = struct.pack('<IIIII', 0, 1, 1, 1, 1 << 20)
        with open(path, 'wb') as f:
            f.write(self.pipe(data, features) if pipe else self.file(data, index, features))

    def pipe(self, data, features):
        """Write the format of perf record -o -. This format has no index, and has records with the contents of the
        file's headers"""
        out = b'PERFILE2' + struct.pack('<Q', 16)
        for n, a in enumerate(self.attrs()):
            out += struct.pack('<IHH', RECORD_HEADER_ATTR, 0, 16 + len(a)) + a
            out += struct.pack('<Q', n + 1)
        for n, content in features.items():
            out += struct.pack('<IHHQ', RECORD_HEADER_FEATURE, 0, 16 + len(content), n) + content
        return out + data

    def file(self, data, index, features):
        attrs = self.attrs()
        ids = [struct.pack('<Q', n + 1) for n in range(len(attrs))]
        at = 104
        id_at = at
        at += sum(len(i) for i in ids)
        attr_at = at
        attr_bytes = b''
        for a, i in zip(attrs, ids):
            attr_bytes += a + struct.pack('<QQ', id_at, len(i))
            id_at += len(i)
        data_at = at + len(attr_bytes)
        # Positions of the PERF_RECORD_AUXTRACE records
        features[FEATURE_AUXTRACE] = struct.pack('<Q', len(index)) + b''.join(
            struct.pack('<QQ', data_at + at, size) for at, size in index)
        sections, at = b'', data_at + len(data) + len(features) * 16
        for n in sorted(features):
            sections += struct.pack('<QQ', at, len(features[n]))
            at += len(features[n])
        header = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, ATTR_SIZE + 16, attr_at, len(attr_bytes),
                                           data_at, len(data), 0, 0)
        header += struct.pack('<QQQQ', sum(1 << n for n in features), 0, 0, 0)
        return (header + b''.join(ids) + attr_bytes + data + sections +
                b''.join(features[n] for n in sorted(features)))


class Guest(File):
    """A recording by perf record -a -e dummy in a guest with one CPU. The recording has events of programs and no
    trace"""

    def __init__(self):
        super().__init__(switches=True)
        self.data = bytearray()
        self.event_id = 1
        self.record(RECORD_ID_INDEX, 0, struct.pack('<QQQQQ', 1, 1, 0, 0, 2 ** 64 - 1))

    def attrs(self):
        return super().attrs()[1:]
