# SPDX-License-Identifier: GPL-2.0-only
"""Read the data in a page of `ntrace html` like a browser, but without its script."""
import base64
import html.parser
import json

FIELDS = 7
LEVELS = 18


def level_ns(level):
    return 4 << 2 * level


class Scripts(html.parser.HTMLParser):
    """Collect the script elements as (type, id, text), and all other elements that may contain a script"""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.tags = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == 'script':
            attrs = dict(attrs)
            self.scripts.append([attrs.get('type'), attrs.get('id'), ''])

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == 'script' and self.cdata_elem == 'script':
            self.scripts[-1][2] += data


def numbers(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


class Page:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            parsed = Scripts(f.read())
        self.tags = parsed.tags
        self.code = [text for kind, _, text in parsed.scripts if kind is None]
        self.data = {name: text for kind, name, text in parsed.scripts if kind is not None}
        self.meta = json.loads(self.data['meta'])
        index = self.meta['chunks']
        self.chunks = [index[i:i + FIELDS] for i in range(0, len(index), FIELDS)]

    def items(self):
        """Return each item as (track, level at which it is stored, start, ns, depth, name, count, level at which it was
        made, kind)"""
        for nth, (track, level, nr, first, *_) in enumerate(self.chunks):
            fields = numbers(base64.b64decode(self.data[f'c{nth}']))
            begin = first
            for _ in range(nr):
                delta = next(fields)
                begin += ~(delta >> 1) if delta & 1 else delta >> 1
                ns, depth, name, count, what = (next(fields) for _ in range(5))
                made, kind = (what, 0) if depth & 1 else (0, what)
                yield track, level, begin, ns, depth >> 1, name, count, made, kind
            assert next(fields, None) is None, 'bytes are left in a chunk'

    def calls(self):
        """Return the calls in the form of `ntrace script --calls --json`, but without pid and
        comm"""
        start = self.meta['start'].split('.')
        start = int(start[0]) * 10 ** 9 + int(start[1])
        for track, _, begin, ns, _, name, count, made, kind in self.items():
            if self.meta['tracks'][track][0] != 2 or made or kind & 16:
                continue
            function = self.meta['functions'][name]
            tid = self.meta['threads'][self.meta['tracks'][track][1]][1]
            yield start + begin, ns, count, tid, function[0], function[1]
