#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Ask the same random questions by ntrace query and by SQL: query.py NTRACE PERF.DATA DATABASE SEED COUNT

The database is an export of the recording. This program generates each question together with the equivalent SQL, so
it does not need to parse questions."""
import json
import random
import sqlite3
import subprocess
import sys

NTRACE, DATA, DATABASE, SEED, COUNT = sys.argv[1:]
COMPARE = ('=', '!=', '<', '<=', '>', '>=')
COLUMNS = 'time, ns, insns, pid, tid, comm, cpu, depth, function, object'


class Questions:
    """Makes pairs of a question and the SQL that selects the ids of the same rows of spans"""
    def __init__(self, db, seed):
        self.rng = random.Random(seed)
        self.functions = [n for n, in db.execute('SELECT DISTINCT function FROM functions WHERE id IN (SELECT function FROM spans) ORDER BY 1')
                          if n and not set(n) & set('()<>"=![]*?\\ ')]
        self.objects = [n for n, in db.execute('SELECT DISTINCT object FROM functions WHERE object IS NOT NULL ORDER BY 1')
                        if '[' not in n]
        # Functions of libc and the kernel can have several names, but the database contains only one of them. A pattern
        # may match another name, so do not use patterns for functions of such recordings
        self.stars = not any(n.startswith('__') for n in self.functions)
        self.comms = [n for n, in db.execute('SELECT DISTINCT comm FROM threads ORDER BY 1')]
        self.values = {n: [v for v, in db.execute(f'SELECT {n} FROM spans ORDER BY random() LIMIT 200')]
                       for n in ('ns', 'insns', 'depth', 'time', 'cpu')}
        self.values['tid'] = [v for v, in db.execute('SELECT tid FROM threads')]
        self.values['pid'] = [v for v, in db.execute('SELECT pid FROM threads')]

    def pattern(self, names):
        name = self.rng.choice(names)
        if (self.stars or names is not self.functions) and len(name) > 2 and self.rng.random() < 0.3:
            at = self.rng.randrange(1, len(name))
            return name[:at] + '*' if self.rng.random() < 0.7 else '*' + name[at:]
        return name

    def function(self):
        name = self.pattern(self.functions)
        # For a name without "*", ntrace query also selects all C++ functions that have this name and any arguments. The
        # SQL does not select them, because these programs have no C++ functions
        return (self.rng.choice((name, f'"{name}"', f'function={name}')),
                f"SELECT id FROM spans WHERE function IN (SELECT id FROM functions WHERE function GLOB '{name}')")

    def text(self):
        kind = self.rng.choice(('caller', 'object', 'comm'))
        if kind == 'caller':
            name = self.pattern(self.functions)
            sql = f"caller IN (SELECT id FROM spans WHERE function IN (SELECT id FROM functions WHERE function GLOB '{name}'))"
        elif kind == 'object' and self.objects:
            name = self.pattern(self.objects)
            sql = f"function IN (SELECT id FROM functions WHERE object GLOB '{name}')"
        else:
            kind, name = 'comm', self.pattern(self.comms)
            sql = f"thread IN (SELECT id FROM threads WHERE comm GLOB '{name}')"
        if self.rng.random() < 0.2:
            return f'{kind}!="{name}"', f'SELECT id FROM spans WHERE NOT coalesce({sql}, 0)'
        return f'{kind} = "{name}"', f'SELECT id FROM spans WHERE {sql}'

    def number(self):
        field = self.rng.choice(list(self.values))
        value, compare = self.rng.choice(self.values[field]), self.rng.choice(COMPARE)
        if value < 0:
            field, value = 'depth', 2
        text = str(value)
        if field == 'time':
            text = f'{value // 10 ** 9}.{value % 10 ** 9:09}'
        elif field == 'ns' and self.rng.random() < 0.5:
            unit, factor = self.rng.choice((('us', 1000), ('ms', 10 ** 6), ('s', 10 ** 9)))
            text = f'{value // factor}.{value % factor:0{len(str(factor)) - 1}}{unit}'
        elif field == 'insns' and self.rng.random() < 0.3:
            value = value // 1000 * 1000
            text = f'{value // 1000}k'
        column = f'(SELECT {field} FROM threads t WHERE t.id = thread)' if field in ('tid', 'pid') else field
        return f'{field}{compare}{text}', f'SELECT id FROM spans WHERE {column} {compare} {value}'

    def relation(self, depth):
        text, sql = self.one(depth - 1)
        kind = self.rng.choice(('in', 'has', 'in', 'has', 'after', 'before'))
        rows = f'(SELECT * FROM spans WHERE id IN ({sql}))'
        if kind == 'in':
            # Follow the column "caller" in the SQL, because ntrace query uses the column "last", and both must agree
            sql = (f'WITH RECURSIVE x(id) AS (SELECT s.id FROM spans s WHERE s.caller IN ({sql}) UNION '
                   f'SELECT s.id FROM x JOIN spans s ON s.caller = x.id) SELECT id FROM x')
        elif kind == 'has':
            sql = f'WITH RECURSIVE x(id) AS (SELECT caller FROM {rows} UNION SELECT s.caller FROM x JOIN spans s ON s.id = x.id) SELECT id FROM x WHERE id IS NOT NULL'
        elif kind == 'after':
            sql = f'SELECT s.id FROM spans s JOIN (SELECT stack, min(last) AS m FROM {rows} GROUP BY stack) x ON x.stack = s.stack AND s.id > x.m'
        else:
            sql = f'SELECT s.id FROM spans s JOIN (SELECT stack, max(id) AS m FROM {rows} GROUP BY stack) x ON x.stack = s.stack AND s.last < x.m'
        return f'{kind} {text}', sql

    def one(self, depth):
        what = self.rng.random()
        if depth > 0 and what < 0.2:
            text, sql = self.any(depth - 1)
            return f'({text})', sql
        if depth > 0 and what < 0.3:
            text, sql = self.one(depth - 1)
            return f'not {text}', f'SELECT id FROM spans WHERE id NOT IN ({sql})'
        if depth > 0 and what < 0.65:
            return self.relation(depth)
        if what < 0.85:
            return self.function()
        return self.text() if what < 0.9 else self.number()

    def all(self, depth):
        parts = [self.one(depth) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        return ' '.join(p[0] for p in parts), ' INTERSECT '.join(f'SELECT id FROM ({p[1]})' for p in parts)

    def any(self, depth):
        parts = [self.all(depth) for _ in range(self.rng.choice((1, 1, 2)))]
        return ' or '.join(p[0] for p in parts), ' UNION '.join(f'SELECT id FROM ({p[1]})' for p in parts)


def ask(question, *options):
    done = subprocess.run([NTRACE, 'query', '-i', DATA, *options, question], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f'{question}: status {done.returncode}: {done.stderr}')
    return done.returncode, done.stdout


def main():
    db = sqlite3.connect(DATABASE)
    questions = Questions(db, SEED)
    names = COLUMNS.split(', ')
    failed = found = some = nr = 0
    while nr < int(COUNT):
        text, sql = questions.any(3)
        try:
            wanted = sorted(db.execute(f'SELECT {COLUMNS} FROM calls WHERE id IN ({sql})').fetchall(), key=repr)
        except sqlite3.OperationalError:   # sqlite limits how deeply SQL may be nested
            continue
        # Most of the queries must find some of the calls, but not all
        if not wanted and questions.rng.random() < 0.9:
            continue
        nr += 1
        status, out = ask(text, '--json')
        got = sorted((tuple(json.loads(line)[n] for n in names) for line in out.splitlines()), key=repr)
        found += len(got)
        some += bool(got)
        if got != wanted or status != (not wanted):
            failed += 1
            print(f'{text}: {len(got)} calls, but {len(wanted)} by SQL, status {status}\n  {sql}')
    print(f'{nr} questions, of which {some} select {found} calls, {failed} differ')
    sys.exit(failed > 0 or some < nr / 2)


if __name__ == '__main__':
    main()
