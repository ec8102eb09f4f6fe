# SPDX-License-Identifier: GPL-2.0-only
"""Read tracefiles in the format of lcov, see geninfo(1). Any program may have written them."""
import collections


class File:
    def __init__(self):
        self.lines = {}                                     # line: count
        self.functions = {}                                 # name: (line, calls)
        self.ways = collections.defaultdict(dict)           # line: {block: {way: count}}

    def branches(self):
        """Return {line: list of the counts of all directions of each branch}"""
        return {n: sorted(tuple(sorted(b.values())) for b in blocks.values()) for n, blocks in self.ways.items()}


def read(path):
    """Return {source: File}"""
    files, file, where = collections.defaultdict(File), None, {}
    with open(path, encoding='utf-8') as f:
        for text in f:
            key, _, value = text.strip().partition(':')
            if key == 'SF':
                file, where = files[value], {}
            elif key == 'DA':
                n, count = map(int, value.split(','))
                file.lines[n] = count
            elif key == 'BRDA':
                n, block, way, count = value.split(',')
                # "-" means that the branch was never executed
                file.ways[int(n)].setdefault(block, {})[way] = 0 if count == '-' else int(count)
            elif key == 'FN':
                n, name = value.split(',')
                where[name] = int(n)
            elif key == 'FNDA':
                count, name = value.split(',')
                file.functions[name] = where[name], int(count)
    return files
