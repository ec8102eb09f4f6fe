#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks for html.t. Each function is a command. `browse` controls a browser and prints a line for each check."""
import collections
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'perf'), os.path.join(HERE, '..', 'ntt')]
import mkcalls   # noqa: E402
import page      # noqa: E402
import perfdata  # noqa: E402

# Names that would break a page, with 64 bytes each
EVIL = [b'</script><script>alert(1)</script><img src=x onerror=alert(2)> ',
        b'\'";alert(3)//\\u003c\x01\x02\x1b[31m\xff\xfe\xc0\x80 &lt;{{DATA}}<!--<script>']
PLACE = [b'A' * 64, b'B' * 64]


def same_calls(path, wanted):
    with open(wanted, encoding='utf-8') as f:
        wanted = sorted((c['time'], c['ns'], c['insns'], c['tid'], c['function'], c['object']) for c in map(json.loads, f))
    got = sorted(page.Page(path).calls())
    print(f'{len(got)} calls of {len(wanted)}')
    assert got == wanted and got


def levels(path):
    """Check that each call is in exactly one item of each level. An item may be shorter than the minimum of its
    level only if no other item is near"""
    rows = collections.defaultdict(list)
    for track, put, begin, ns, depth, name, _, made, _ in page.Page(path).items():
        rows[track, depth].append((begin, -ns, made, put))
    checked = 0
    for items in rows.values():
        items.sort()
        for level in range(page.LEVELS):
            seen = [i for i in items if i[2] <= level <= i[3]]
            ends = [begin - ns for begin, ns, *_ in seen]
            assert all(begin >= end for (begin, *_), end in zip(seen[1:], ends)), ('items overlap', level, seen[:8])
            short = [(begin, -ns) for begin, ns, *_ in seen if -ns < page.level_ns(level)]
            for (begin, ns), (after, more) in zip(short, short[1:]):
                # two items shorter than level_ns stay separate if the time between them is long, if another item is
                # between them, or if the time from the start of the first to the end of the second is long
                assert after - begin - ns >= page.level_ns(level) or level == 0 or any(
                    begin + ns <= b <= after for b, n, *_ in seen if (b, -n) not in ((begin, ns), (after, more))) or \
                    after + more - begin >= page.level_ns(level), (level, begin, ns, after, more)
            calls = [i for i in items if not i[2]]
            at = 0
            for begin, ns, *_ in calls:
                while at + 1 < len(seen) and seen[at + 1][0] <= begin and ends[at] < begin - ns or \
                        (at < len(seen) and ends[at] < begin - ns):
                    at += 1
                assert seen[at][0] <= begin and begin - ns <= ends[at], (level, begin, ns)
                checked += 1
    print(f'{checked} calls and levels')
    assert checked


def safe(path):
    """Check that the page has one script, no element that loads a file, and no invalid character"""
    p = page.Page(path)
    assert len(p.code) == 1, f'{len(p.code)} scripts'
    assert not [t for t, a in p.tags if t in ('img', 'iframe', 'link', 'object', 'embed', 'base') or 'src' in a or 'href' in a]
    assert not [a for _, attrs in p.tags for a in attrs if a.startswith('on')]
    with open(path, 'rb') as f:
        text = f.read().decode('utf-8')
    assert not [c for c in text if ord(c) < 32 and c not in '\n\t']


class Name(bytes):
    """A name with any bytes, which perfdata.py can write"""

    def encode(self):
        return bytes(self)


def evil(program, path, data):
    """Copy the program to a file with a hostile name, and give its symbols hostile names. Make a recording in which a
    thread with a hostile name executes the copy"""
    with open(program, 'rb') as f:
        elf = f.read()
    for place, name in zip(PLACE, EVIL):
        assert elf.count(place) == 1
        elf = elf.replace(place, name[:64].ljust(64, b'x'))
    path = os.fsencode(path)
    with open(path, 'wb') as f:
        f.write(elf)
    file = perfdata.File()
    trace = mkcalls.trace()
    file.comm(mkcalls.PID, Name(b'<b>"\'\x07\xff'))
    file.mmap(mkcalls.PID, mkcalls.BASE, 0x1000, 0x1000, Name(os.path.abspath(path)))
    file.aux(0, len(trace), mkcalls.ns(mkcalls.START + 1000), mkcalls.PID)
    file.trace(trace)
    file.finished_round()
    file.exit(mkcalls.PID, mkcalls.ns(mkcalls.START + 2000))
    file.save(data)


def many(program, path, calls):
    """Make a recording in which two CPUs execute the code of calls.S many times"""
    inner, outer, first, call, leave, again = mkcalls.COMPRESSED
    file = perfdata.File(cpus=2)
    rounds = int(calls) // 4
    for cpu, tid in enumerate((mkcalls.PID, mkcalls.OTHER)):
        file.comm(tid, 'calls')
        file.mmap(tid, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
        out, ref, parts = mkcalls.start_message(mkcalls.BASE, tid=tid), mkcalls.BASE, []
        for before, hist in (first, 1), (again, 3):
            part = b''
            for target, icnt, bits in ((inner, before + call, hist), (outer, leave, 1)):
                target += mkcalls.BASE
                part += mkcalls.message('IndirectBranchHist', B_TYPE=0, I_CNT=icnt, U_ADDR=(target ^ ref) >> 1,
                                        HIST=bits, TSTAMP=2)
                ref = target
            parts.append(part)
        out += parts[0] + parts[1] * (rounds - 1)
        out += mkcalls.message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=again, HIST=3, TSTAMP=2)
        file.aux(0, len(out), mkcalls.ns(mkcalls.START + 4 * rounds + 100), tid, cpu)
        file.trace(out, cpu=cpu)
    file.finished_round()
    for tid in mkcalls.PID, mkcalls.OTHER:
        file.exit(tid, mkcalls.ns(mkcalls.START + 4 * rounds + 200))
    file.save(path)


def lossy(program, path):
    """Make a recording in which two CPUs execute calls.S eight times, and CPU 0 loses trace after two of these times"""
    file = perfdata.File(cpus=2)
    for tid in mkcalls.PID, mkcalls.OTHER:
        file.comm(tid, 'calls')
        file.mmap(tid, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
    for cpu, tid in enumerate((mkcalls.PID, mkcalls.OTHER)):
        at = 0
        for n in range(8):
            data = mkcalls.trace(tid=tid, start=mkcalls.START + 40 * n + cpu * 7)
            lost = perfdata.AUX_TRUNCATED if n in (2, 5) and not cpu else 0
            file.aux(at, len(data), mkcalls.ns(mkcalls.START + 40 * n + 30), tid, cpu, lost)
            file.trace(data, at, cpu)
            at += len(data)
    file.finished_round()
    for tid in mkcalls.PID, mkcalls.OTHER:
        file.exit(tid, mkcalls.ns(mkcalls.START + 1000))
    file.save(path)


def losses(path):
    """Check that the page shows both losses on CPU 0, each from a stop of the trace to the next start"""
    p = page.Page(path)
    found = sorted((begin, begin + ns) for track, _, begin, ns, *_, made, _ in p.items()
                   if p.meta['tracks'][track][:2] == [1, 0] and not made)
    ran = sorted((begin, begin + ns) for track, _, begin, ns, *_, made, _ in p.items()
                 if p.meta['tracks'][track][:2] == [0, 0] and not made)
    print(found, ran)
    assert found == [(ran[n][1], ran[n + 1][0]) for n in (2, 5)]


# ---- Checks in the browser ----

def check(name, good, why=''):
    print(f'{"ok" if good else "not ok"}\t{name}\t{ascii(why)}', flush=True)


def zoom(b):
    begin = b.settle()
    hidden = b.run("document.getElementById('tracks').getBoundingClientRect().right - "
                   "document.getElementById('scrollbar').getBoundingClientRect().left")
    check('the scroll bar hides no call', hidden <= 0, hidden)
    nearer = b.key('w')
    check('key W zooms in', nearer['to'] - nearer['from'] < 0.7 * (begin['to'] - begin['from']), nearer)
    moved = b.key('d')
    check('key D moves right', moved['from'] > nearer['from'] and moved['to'] - moved['from'] > 0, moved)
    check('key A moves back to the left', abs(b.key('a')['from'] - nearer['from']) < 2)
    wheel = b.wheel(800, 500, 0, -300, modifiers=2)
    check('the wheel zooms with Ctrl', wheel['to'] - wheel['from'] < nearer['to'] - nearer['from'], wheel)
    out = b.key('s')
    check('key S zooms out', out['to'] - out['from'] > wheel['to'] - wheel['from'], out)
    dragged = b.drag(900, 600, 700, 600)
    check('dragging moves', dragged['from'] > out['from'], dragged)
    check('0 shows all', b.key('0')['from'] == 0 and b.settle()['to'] == begin['to'])
    check('a click on + zooms in', b.click_on('#zoom-in')['to'] < begin['to'])
    b.key('0')


def search(b, name, calls):
    b.key('/')
    state = b.type(name)
    text = b.run("document.getElementById('search-state').textContent")
    check('the search finds a function', state['matched'] and f'{calls:,} calls' in text, (state, text))
    b.key('Enter')
    b.wait('ntrace.state().selected', 10)
    first = b.settle()
    check('Enter selects the first call of the found function', first['selected'] and first['selected']['function'] == name, first)
    check('the selected call is visible', first['from'] <= first['selected']['begin'] <= first['to'], first)
    at = b.run(f'ntrace.find({json.dumps(name)})')
    b.key('n')
    later = b.wait(f"ntrace.state().selected.begin !== {first['selected']['begin']} || ntrace.state().selected.track !== "
                   f"{json.dumps(first['selected']['track'])}", 10)
    after = b.settle()
    check('key N selects the next call', later and after['selected']['begin'] >= first['selected']['begin'], after)
    check('P goes back', b.key('p') and b.wait(f"ntrace.state().selected.begin === {first['selected']['begin']}", 10))
    return at


def click(b, name):
    b.key('Escape')
    check('Escape removes the selection', b.settle()['selected'] is None)
    b.key('0')
    for _ in range(60):
        at = b.run(f'ntrace.find({json.dumps(name)})')
        if at:
            break
        b.key('w')
    b.mouse('mouseMoved', **at)
    b.settle()
    tip = b.run("document.getElementById('tip').textContent")
    check('the mouse over a call shows its name', name in tip and not b.run("document.getElementById('tip').hidden"), tip)
    state = b.click(**at)
    check('a click selects a call', state['selected'] and state['selected']['function'] == name, state)
    text = b.run("document.getElementById('details').innerText")
    check('the details of the selected call are shown', name in text and 'median' in text, text)
    near = b.key('f')
    check('key F zooms to the selected call', near['to'] - near['from'] <= max(4 * near['selected']['ns'], 20), near)
    state = b.drag(500, 115, 700, 115)
    check('dragging on the ruler selects a range of time', state['range'] and state['range'][1] > state['range'][0], state)


def views(b, name, calls):
    b.key('Escape')
    b.key('2')
    state = b.settle()
    check('2 shows the flame graph', state['tab'] == 'flame' and state['flame'].startswith('all: '), state)
    clicked = b.click(400, 124)
    check('a click on the selected range zooms to it', not clicked['flame'].startswith('all: '), clicked)
    b.key('3')
    text = b.run("document.querySelector('#functions tbody').innerText")
    check('3 lists functions', name in text and f'{calls:,}' in text, text[:200])
    b.click_on('#functions tbody tr')
    check('a click on a row of the table shows its function', not b.run("document.getElementById('details').hidden"))
    b.key('m')
    check('key M selects the slowest call', b.wait('ntrace.state().selected') and b.settle()['tab'] == 'timeline', b.settle())
    b.key('?')
    check('? lists the keys', b.run("document.getElementById('help').open"))
    b.run("document.getElementById('help').close()")
    dark = b.run("document.documentElement.classList.contains('dark')")
    b.key('t')
    check('key T changes the colours', b.run("document.documentElement.classList.contains('dark')") != dark)


def harmless(b, path):
    b.open(path)
    b.settle()
    for key in '23':
        b.key(key)
    rows = b.run("[...document.querySelectorAll('#functions tbody tr')].length")
    for n in range(rows):
        b.run(f"document.querySelectorAll('#functions tbody tr')[{n}].click()")
    b.key('m')
    b.key('/')
    b.type('<')
    names = b.run("document.getElementById('search-list').textContent")
    check('names with HTML are shown as text', EVIL[0].decode()[:60] in names, names)
    check('names with HTML have made no element', not b.run("document.querySelectorAll('img, b img, #search-list script, tbody b').length"))
    check('no script in a name was executed', not [p for p in b.problems if 'alert' in p or 'dialog' in p], b.problems)


def loss(b, path):
    b.open(path)
    b.settle()
    for x in range(200, 1400, 20):
        b.mouse('mouseMoved', x=x, y=147)
        b.settle()
        if 'Trace lost' in b.run("document.getElementById('tip').textContent"):
            break
    tip = b.run("document.getElementById('tip').textContent")
    check('the mouse over a loss shows a text about it', 'Trace lost' in tip and 'CPU 0' in tip, tip)
    check('the page shows how often trace was lost', 'trace was lost 2 times' in b.run("document.getElementById('status').textContent"))


def browse(lossy_page, small, name, calls, evil_page, big, limit, picture):
    from browser import Browser
    with Browser() as b:
        b.open(small)
        zoom(b)
        search(b, name, int(calls))
        click(b, name)
        views(b, name, int(calls))
        harmless(b, evil_page)
        loss(b, lossy_page)
        drawn, read = min((b.open(big) for _ in range(3)), key=lambda times: times[0])
        check('many calls are drawn within the limit', drawn < float(limit), f'{drawn:.0f} ms, all is read after {read:.0f} ms')
        begin = time.monotonic()
        for _ in range(10):
            b.key('w')
        step = (time.monotonic() - begin) * 100
        check('zooming is done within the limit', step < 500, f'{step:.0f} ms')
        b.screenshot(picture)
        others = [url for url in b.requests if not url.startswith('file:')]
        check('the page loads nothing from a network', not others and len(b.requests) == 6, b.requests)
        check('the browser complains of nothing', not b.problems, b.problems)


def violations(b):
    """Return the problems that axe-core finds in the current view"""
    return b.run("axe.run(document, { resultTypes: ['violations'] }).then(r => (r.passes.length < 5 ? [['too little was checked', []]] : "
                 "r.violations.map(v => [v.id, v.nodes.map(n => n.target.join(' '))])))")


def all_views(b, themes):
    """Return the problems that axe-core finds in each view, first with light and then with dark colours"""
    found = []
    for _ in range(themes):
        for keys in '1', 'v', '2', 'v', '3', 'm', 'f', '/':
            b.key(keys)
            if keys == '/':
                b.type('e')
            if keys == '3':
                b.click_on('#functions tbody button')
            found += [(keys, v) for v in violations(b)]
        b.key('Escape')
        b.key('?')
        found += [('?', v) for v in violations(b)]
        b.run("document.getElementById('help').close()")
        b.key('t')
    return found


def tab_to(b, selector):
    for _ in range(60):
        b.key('Tab')
        if b.run(f'document.activeElement.matches({json.dumps(selector)})'):
            return True
    return False


def keyboard(b):
    for key in 'Escape', '1', '0', 'v':
        b.key(key)
    reached = tab_to(b, '#timeline .table button')
    name = b.run('document.activeElement.textContent')
    state = b.key('Enter')
    check('a button of the table selects a call', reached and state['selected'] and state['selected']['function'] == name, state)
    check('the button keeps the focus', b.run('document.activeElement.textContent') == name)
    height = state['height']
    check('key C folds the thread of the selected call', b.key('c')['height'] < height and b.key('c')['height'] == height)
    state = b.key('r')
    check('key R selects the visible range', state['range'] == [state['from'], state['to']], state)
    b.key('2')
    reached = tab_to(b, '#flame-view tr:nth-child(2) button')
    state = b.key('Enter')
    check('a button of the table goes down the flame graph', reached and not state['flame'].startswith('all: '), state)


def accessible(page_path, axe, folder):
    from browser import Browser
    with open(axe, encoding='utf-8') as f:
        axe = f.read()
    for size in (1600, 900), (480, 800):
        with Browser(size) as b:
            b.open(page_path)
            b.settle()
            b.run(axe + ';1')
            found = all_views(b, 2 if size[0] == 1600 else 1)
            check(f'axe-core finds nothing at {size[0]} pixels', not found, found)
            check('the page is not wider than the window', b.run('document.documentElement.scrollWidth') <= size[0])
            b.screenshot(f'{folder}/pictures-{size[0]}.png')
            if size[0] == 480:
                keyboard(b)
            check('the browser complains of nothing', not b.problems, b.problems)


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
