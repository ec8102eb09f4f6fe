#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks for formats.t: formats.py CHECK FILE WANTED...

The file WANTED has the output of `ntrace script --calls --json`.
"""
import collections
import gzip
import json
import re
import sqlite3
import subprocess
import sys

# Fields of Perfetto's messages from its published schema, {number: (name, type)}
PACKET = {8: ('timestamp', int), 10: ('sequence', int), 13: ('flags', int)}
EVENT = {9: ('type', int), 10: ('name_iid', int), 11: ('track', int), 3: ('category', int)}
NAME = {1: ('iid', int), 2: ('name', str)}
EVENT[4] = ('annotation', {1: ('name_iid', int), 3: ('value', int)})
PACKET[11] = ('event', EVENT)
PACKET[12] = ('interned', {1: ('categories', NAME), 2: ('names', NAME), 3: ('annotations', NAME)})
PACKET[60] = ('descriptor', {1: ('uuid', int), 2: ('name', str),
                             4: ('thread', {1: ('pid', int), 2: ('tid', int), 5: ('name', str)})})
TRACE = {1: ('packet', PACKET)}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def parse(data, schema):
    """Return the fields of a message in their order. A field that is not in the schema is an error"""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = schema[key >> 3]
        value, at = varint(data, at)
        assert key & 7 == (0 if kind is int else 2), name
        if kind is not int:
            value, at = data[at:at + value], at + value
            assert at <= len(data)
            value = value.decode('utf-8') if kind is str else value if kind is bytes else list(parse(value, kind))
        yield name, value


def load(path):
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def key(c):
    return c['time'], c['ns'], c['insns'], c['on_cpu_ns'], c['tid'], c['function']


def interned(packet):
    return {(what, dict(entry)['iid']): dict(entry)['name'] for what, entry in packet['interned']}


def perfetto_calls(path):
    names, tracks, open_calls, last = {}, {}, collections.defaultdict(list), {}
    with open(path, 'rb') as f:
        packets = [dict(p) for _, p in parse(f.read(), TRACE)]
    assert packets[0]['flags'] == 1 and all(p['sequence'] == 1 for p in packets)
    for p in packets:
        if 'interned' in p:
            names.update(interned(p))
        if 'descriptor' in p:
            d = dict(p['descriptor'])
            tracks[d['uuid']] = dict(d['thread'])['tid']
        if 'event' not in p:
            continue
        e = dict(p['event'])
        track = e['track']
        assert p['flags'] == 2 and p['timestamp'] >= last.get(track, 0)
        last[track] = p['timestamp']
        if e['type'] == 1:
            assert ('categories', e['category']) in names
            notes = [dict(value) for what, value in p['event'] if what == 'annotation']
            values = {names['annotations', note['name_iid']]: note['value'] for note in notes}
            open_calls[track].append((p['timestamp'], names['names', e['name_iid']], values))
        else:
            begin, name, values = open_calls[track].pop()
            yield begin, p['timestamp'] - begin, values['instructions'], values['on_cpu_ns'], tracks[track], name
    assert not any(open_calls.values())


def perfetto(path, wanted, extra):
    """Check that the file has all wanted calls, and @extra more calls, which have no end"""
    got = collections.Counter(perfetto_calls(path))
    want = collections.Counter(map(key, load(wanted)))
    print(sum(got.values()), 'calls')
    assert not want - got and sum((got - want).values()) == int(extra) and want


def speedscope(path, wanted, extra):
    with open(path, encoding='utf-8') as f:
        data = json.load(f)
    frames, got = [f['name'] for f in data['shared']['frames']], collections.Counter()
    for profile in data['profiles']:
        stack, last = [], profile['startValue']
        for e in profile['events']:
            assert e['at'] >= last
            last = e['at']
            if e['type'] == 'O':
                stack.append((e['frame'], e['at']))
            else:
                frame, begin = stack.pop()
                assert frame == e['frame']
                got[begin, e['at'] - begin, int(profile['name'].split()[-1]), frames[frame]] += 1
        assert not stack and profile['endValue'] >= last
    want = collections.Counter((c['time'], c['ns'], c['tid'], c['function']) for c in load(wanted))
    assert not want - got and sum((got - want).values()) == int(extra)


def folded(path, insns, wanted):
    """Check each function. The sum of all stacks that end in it must be its time without callees"""
    got, want = collections.Counter(), collections.Counter()
    with open(path, encoding='utf-8') as f:
        for line in f:
            stack, value = line.rsplit(' ', 1)
            got[stack.split(';')[-1]] += int(value)
            assert stack.split(';')[0] == 'calls'
    for c in load(wanted):
        value = c['insns'] if insns == 'insns' else c['ns']
        want[c['function']] += value
        if c['function'] == 'inner':
            want['outer'] -= value
    for name in 'inner', 'outer':
        assert got[name] == want[name] > 0, (name, got, want)


def sqlite(path, wanted, extra):
    db = sqlite3.connect(path)
    names = 'time', 'ns', 'on_cpu_ns', 'insns', 'pid', 'tid', 'comm', 'function', 'object'
    got = sorted(db.execute('SELECT ' + ', '.join(names) + ' FROM calls').fetchall())
    assert got == sorted(tuple(c[n] for n in names) for c in load(wanted))
    assert db.execute('SELECT count(*) FROM spans WHERE open').fetchone()[0] == int(extra)
    inner = db.execute('SELECT count(*), min(o.function) FROM calls i JOIN calls o ON i.caller = o.id WHERE i.function = '
                       '"inner" AND i.depth = o.depth + 1 AND o.time <= i.time AND o.ns >= i.ns').fetchone()
    assert inner == (sum(c[7] == 'inner' for c in got), 'outer'), inner
    counts = dict(db.execute('SELECT function, sum(count) FROM samples GROUP BY function').fetchall())
    assert counts['inner'] == inner[0], counts


def utf8(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    assert text and not [c for c in text if ord(c) < 32 and c != '\n']
    if path.endswith(('chrome', 'speedscope')):
        json.loads(text)
    elif path.endswith('jsonl'):
        for line in text.splitlines():
            json.loads(line)
    else:
        assert all(line.rsplit(' ', 1)[1].isdigit() for line in text.splitlines())


def evil_perfetto(path):
    """Check that every string is UTF-8. parse() fails if a string is not"""
    with open(path, 'rb') as f:
        assert list(parse(f.read(), TRACE))


# Fields of the messages in pprof's proto/profile.proto, {number: (name, type)}
PPROF = {1: ('type', {1: ('type', int), 2: ('unit', int)}),
         2: ('sample', {1: ('locations', bytes), 2: ('values', bytes), 3: ('label', {1: ('key', int), 2: ('str', int), 3: ('num', int)})}),
         3: ('mapping', {1: ('id', int), 3: ('limit', int), 5: ('file', int), 6: ('build_id', int), 7: ('functions', int),
                         8: ('files', int), 9: ('lines', int)}),
         4: ('location', {1: ('id', int), 2: ('mapping', int), 3: ('address', int),
                          4: ('line', {1: ('function', int), 2: ('line', int)})}),
         5: ('function', {1: ('id', int), 2: ('name', int), 3: ('system', int), 4: ('file', int), 5: ('start', int)}),
         6: ('string', str), 14: ('default', int)}


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def reported(path):
    """Return the calls, including those without an end, and the own instructions of each function in the output of
    `ntrace report --limit 0`"""
    with open(path, encoding='utf-8') as f:
        rows = [re.match(r' *(\d+)(?:\+(\d+))? .* (\d+)  (.*) \[', line) for line in f]
    return {m[4]: (int(m[1]) + int(m[2] or 0), int(m[3])) for m in rows if m}


def pprof(path, report, build_id):
    with gzip.open(path) as f:
        fields = list(parse(f.read(), PPROF))
    strings = [value for name, value in fields if name == 'string']
    assert strings[0] == '' and [strings[dict(t)['type']] for n, t in fields if n == 'type'] == ['calls', 'instructions', 'time', 'on_cpu']
    assert strings[dict(fields)['default']] == 'time'
    functions = {dict(f)['id']: dict(f) for n, f in fields if n == 'function'}
    mappings = {dict(m)['id']: dict(m) for n, m in fields if n == 'mapping'}
    locations = {dict(loc)['id']: dict(loc) for n, loc in fields if n == 'location'}
    assert build_id in [strings[m.get('build_id', 0)] for m in mappings.values()]
    name = {i: strings[functions[dict(loc['line'])['function']]['name']] for i, loc in locations.items()}
    files = {strings[functions[i].get('file', 0)] for i in functions}
    assert any(f.endswith('calls.S') for f in files) and all(loc['mapping'] in mappings for loc in locations.values())
    got = collections.Counter(), collections.Counter()
    for sample in (s for n, s in fields if n == 'sample'):
        labels = {strings[dict(v)['key']]: dict(v) for n, v in sample if n == 'label'}
        assert strings[labels['thread']['str']] == 'calls' and labels['pid']['num'] == labels['tid']['num'] > 0
        leaf, values = packed(dict(sample)['locations'])[0], packed(dict(sample)['values'])
        for counter, value in zip(got, values):
            counter[name[leaf]] += value
    want = reported(report)
    assert want and {n: (got[0][n], got[1][n]) for n in got[0]} == want, (got, want)


def pprof_top(path, report, program):
    """Check that `pprof -top` prints the same calls and instructions as `ntrace report`"""
    for nth, what in enumerate(('calls', 'instructions')):
        out = subprocess.run([program, '-top', '-nodefraction=0', '-unit=', f'-sample_index={what}', path], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        rows = [line.split(None, 5) for line in out.split('flat%')[1].splitlines()[1:]]
        got = {row[5]: int(row[0]) for row in rows}
        assert got == {n: values[nth] for n, values in reported(report).items()}, (what, out)


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
