#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Rewrite a recording of this tree's perf into the layout of another recorder.

    foreign.py KIND IN.data OUT.data [HOW...]

KIND is one of these:

    gtrace     records lack the CPU, and the metadata has one word
    rvtrace    the same, and records do not contain the format of the trace
    ring       gtrace with a ring of 256 KiB that has wrapped around, in the order in which its driver reads it
    k3         the perf of SpacemiT's K3, whose metadata has words of each CPU

HOW changes the recording:

    no-ids     omit PERF_RECORD_AUX_OUTPUT_HW_ID
    no-index   omit PERF_RECORD_ID_INDEX
    no-cpus    omit the number of CPUs in the header
    flags=N    set the format in each PERF_RECORD_AUX
    words=N    write N words of metadata
    word=I:V   set word I of the metadata to V
    cpus=N     set the number of CPUs in the header
    index=N    let PERF_RECORD_ID_INDEX claim N entries
    id=N       set the ID in each PERF_RECORD_AUX_OUTPUT_HW_ID
    swap       exchange CPUs, so that CPU 0 becomes CPU 1 and so on, and keep each SRC
    short      write no word of metadata
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import perfdata  # noqa: E402

SAMPLE_CPU, AUX_OUTPUT_HW_ID, TYPE = 1 << 7, 21, 8
FORMAT_GTRACE, FORMAT_RAW = 0x200, 0x100
HZ_MULT, HZ_SHIFT = 102400, 10       # parameters of the 10 MHz clock in perfdata.File
RING, LINE = 256 << 10, 64


class Recording:
    """The parts of a perf.data file"""

    def __init__(self, path):
        with open(path, 'rb') as f:
            data = f.read()
        _, size, attrs_at, attrs_size, at, length = struct.unpack_from('<QQQQQQ', data, 8)
        self.attrs = [data[n:n + size - 16] for n in range(attrs_at, attrs_at + attrs_size, size)]
        self.records, end = [], at + length
        while at < end:
            kind, misc, size = struct.unpack_from('<IHH', data, at)
            trace = struct.unpack_from('<Q', data, at + 8)[0] if kind == perfdata.RECORD_AUXTRACE else 0
            self.records.append((kind, misc, data[at + 8:at + size], data[at + size:at + size + trace]))
            at += size + trace
        features, self.features = struct.unpack_from('<Q', data, 72)[0], {}
        for n in range(64):
            if features >> n & 1:
                where, size = struct.unpack_from('<QQ', data, at)
                self.features[n], at = data[where:where + size], at + 16

    def words(self):
        info = next(body for kind, _, body, _ in self.records if kind == perfdata.RECORD_AUXTRACE_INFO)
        words = struct.unpack(f'<{len(info) // 8 - 1}Q', info[8:])
        return words[5], [words[words[2] + n * words[3]:][:words[3]] for n in range(words[4])]

    def save(self, path, ids):
        """@ids: list of ids for each event"""
        ids = [b''.join(struct.pack('<Q', i) for i in some) for some in ids]
        out, at = b''.join(ids), 104
        attr_at = at + len(out)
        for attr, some in zip(self.attrs, ids):
            out += attr + struct.pack('<QQ', at, len(some))
            at += len(some)
        data_at, data, index = 104 + len(out), b'', []
        for kind, misc, body, trace in self.records:
            if kind == perfdata.RECORD_AUXTRACE:
                index.append(struct.pack('<QQ', data_at + len(data), 48))
            data += struct.pack('<IHH', kind, misc, 8 + len(body)) + body + trace
        self.features[perfdata.FEATURE_AUXTRACE] = struct.pack('<Q', len(index)) + b''.join(index)
        at, sections = data_at + len(data) + 16 * len(self.features), b''
        for n in sorted(self.features):
            sections += struct.pack('<QQ', at, len(self.features[n]))
            at += len(self.features[n])
        header = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, len(self.attrs[0]) + 16, attr_at, data_at - attr_at, data_at, len(data), 0, 0)
        header += struct.pack('<QQQQ', sum(1 << n for n in self.features), 0, 0, 0)
        with open(path, 'wb') as f:
            f.write(header + out + data + sections + b''.join(self.features[n] for n in sorted(self.features)))


def event_id(event, cpu):
    return event + 10 * (cpu + 1)


def without_cpu(type_, body, swap):
    """Return the body of a record without the CPU, because the id identifies the CPU. @swap: XOR each CPU number with
    this"""
    if type_ == perfdata.RECORD_AUXTRACE:
        return body[:32] + struct.pack('<I', struct.unpack_from('<I', body, 32)[0] ^ swap) + body[36:]
    if type_ >= perfdata.RECORD_HEADER_ATTR:
        return body
    pid_time, cpu, event = body[-32:-16], struct.unpack_from('<I', body, len(body) - 16)[0], struct.unpack_from('<Q', body, len(body) - 8)[0]
    return body[:-32] + pid_time + struct.pack('<Q', event_id(event, cpu ^ swap))


def rings(sessions):
    """Return the bytes that the driver of gtrace reads from a ring after each session"""
    ring, at, out = bytearray(b'\xff' * RING), 0, []
    for session in sessions:
        session += b'\xff' * (-len(session) % LINE)
        begin = at
        for n in range(0, len(session), LINE):
            ring[at:at + LINE] = session[n:n + LINE]
            at = (at + LINE) % RING
        if begin + len(session) < RING:
            out.append(session)
        else:
            out.append(bytes(ring[at:RING - LINE] + ring[:at]))
            at = 0
    return out


def into_ring(recording):
    """Replace the trace of the only CPU by the part of this trace that a ring buffer still contains"""
    trace = bytearray()
    for kind, _, body, data in recording.records:
        if kind == perfdata.RECORD_AUXTRACE:
            at, = struct.unpack_from('<Q', body, 8)
            trace[at:] = data
    spans = [struct.unpack_from('<QQ', body) for kind, _, body, _ in recording.records if kind == perfdata.RECORD_AUX]
    new = rings([bytes(trace[at:at + size]) for at, size in spans])
    records, offset = [], 0
    for kind, misc, body, data in recording.records:
        if kind == perfdata.RECORD_AUX:
            piece = new.pop(0)
            body = struct.pack('<QQ', offset, len(piece)) + body[16:]
            records.append((perfdata.RECORD_AUXTRACE, 0, struct.pack('<QQQIIII', len(piece), offset, 0, 0, 0xffffffff, 0, 0), piece))
            offset += len(piece)
        if kind != perfdata.RECORD_AUXTRACE:
            records.append((kind, misc, body, data))
    recording.records = records


def main():
    kind, source, target = sys.argv[1:4]
    how = dict(arg.partition('=')[::2] for arg in sys.argv[4:])
    recording = Recording(source)
    pmu_type, cpus = recording.words()
    if kind == 'ring':
        into_ring(recording)
    k3 = kind == 'k3'
    if k3:
        words = [pmu_type << 32 | len(cpus)]
        for cpu in cpus:
            # The words of a CPU: CPU, number of the other words, format N-Trace, context, 1 if messages have no SRC,
            # bits of SRC, SRC
            words += [cpu[0], 5, 1, cpu[2] & perfdata.CONTEXT, 0 if cpu[perfdata.CPU_SRC_BITS] else 1, cpu[perfdata.CPU_SRC_BITS], cpu[perfdata.CPU_SRC_ID]]
    else:
        words = [pmu_type]
    if 'word' in how:
        which, value = (int(n, 0) for n in how['word'].split(':'))
        words[which] = value
    words = (words + [7] * 64)[:int(how.get('words', len(words)))]
    index = [(event, cpu) for cpu in range(len(cpus)) for event in (1, 2)]
    before = [(perfdata.RECORD_TIME_CONV, 0, struct.pack('<QQQQQBB6x', HZ_SHIFT, HZ_MULT, 0, 0, 2 ** 64 - 1, 1, 0), b'')]
    if 'no-index' not in how and not k3:
        before.append((perfdata.RECORD_ID_INDEX, 0, struct.pack('<Q', int(how.get('index', str(len(index))), 0)) + b''.join(
            struct.pack('<QQQQ', event_id(event, cpu), cpu, cpu, 2 ** 64 - 1) for event, cpu in index), b''))
    info = (perfdata.RECORD_AUXTRACE_INFO, 0, struct.pack(f'<II{len(words)}Q', TYPE, 0, *words), b'')
    after = []
    for n, cpu in enumerate(cpus):
        src = cpu[perfdata.CPU_SRC_ID]
        hw_id = int(how['id'], 0) if 'id' in how else 1 << 60 | 7 << 8 | cpu[perfdata.CPU_TRACE_ID] if k3 else src
        if 'no-ids' not in how:
            after.append((AUX_OUTPUT_HW_ID, 0, struct.pack('<Q', hw_id) + perfdata.File.trailer(1, 1, 1, n, 1), b''))
    records = []
    for type_, misc, body, data in recording.records:
        if type_ == perfdata.RECORD_AUX:
            flags, = struct.unpack_from('<Q', body, 16)
            frames = flags & perfdata.AUX_FRAMES
            flags &= 0xff
            if k3:
                flags |= 0 if frames else FORMAT_RAW
            elif kind != 'rvtrace':
                flags |= FORMAT_GTRACE
            if 'flags' in how:
                flags = flags & 0xff | int(how['flags'], 0)
            body = body[:16] + struct.pack('<Q', flags) + body[24:]
        records += [(type_, misc, body, data)] if type_ != perfdata.RECORD_AUXTRACE_INFO else [*before, info, *after]
    recording.records = records
    ids = [[1], [2]]
    if not k3:
        recording.records = [(type_, misc, without_cpu(type_, body, 'swap' in how), data)
                             for type_, misc, body, data in records]
        recording.attrs = [attr[:24] + struct.pack('<Q', struct.unpack_from('<Q', attr, 24)[0] & ~SAMPLE_CPU) + attr[32:] for attr in recording.attrs]
        ids = [[event_id(event, cpu) for cpu in range(len(cpus))] for event in (1, 2)]
    if 'no-cpus' in how:
        recording.features.pop(perfdata.FEATURE_NRCPUS)
    if 'cpus' in how:
        recording.features[perfdata.FEATURE_NRCPUS] = struct.pack('<II', int(how['cpus'], 0), len(cpus))
    if 'short' in how:
        recording.records = [(t, m, body[:4] if t == perfdata.RECORD_AUXTRACE_INFO else body, d) for t, m, body, d in recording.records]
    recording.save(target, ids)


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
