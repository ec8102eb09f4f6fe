#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count writing habits that confuse new readers, and check the subjects of commits.

    words.py habits [FOLDER ...]   each habit in the comments and sentences of FOLDER, and what to write
    words.py ceilings FILE         compare the share of each folder with its ceiling in FILE
    words.py subjects              check the lines of standard input as subjects of commits

A habit marks a place to check. A comment describes who does what to what, and why. CONTRIBUTING.md has the rules.
"""
import re
import subprocess
import sys

# The name of each habit, the pattern that finds it, and the better words
HABITS = [(name, re.compile(pattern), better) for name, pattern, better in (
    ('a colon in place of a verb', r'[a-z)]: [a-z]', 'because, so that, which means'),
    ('a question', r'\?$', 'return true if'),
    ('what or who as a noun', r'\b(?:at|by|for|from|in|is|of|than|that|to|with) who(?:ever)?\b|'
     r'\bwhat(?:ever)? (?:an?|has|is|it|no|the|they|was)\b', 'the name of the thing'),
    ('as for because', r', as (?:all|an?|each|in|it|no|of|that|the|there|these|they|this|those)\b', 'because, such as'),
    ('where for if', r'\bwhere (?:an?|it|no|nothing|one|some|the|there|they|this)\b', 'if, when'),
    ('of its own', r"\bof (?:his|its|one's|their|your)s? own\b", 'its own'),
    ('an adverb at the end', r'\b(?:after|again|before|meanwhile|then|too|yet)\.?$', 'the adverb before the verb'),
    ('a thing that speaks', r'\b(?:says?|said|tells?|told)\b', 'reports, contains, encodes'),
    ('a verb of movement', r'\b(?:hand(?:ed|s)? (?:on|over)|(?:goes|going|gone|went) on|g(?:ave|ives?|iven) (?:back|out)|'
     r'comes?|came|stands?|stood)\b', 'continues, returns, submits, is stored, arrives'),
    ('ones that, so many', r'\bones? that\b|\bthose that\b|\bso (?:long|many|much)\b|\bsuch an?\b', 'the noun once more'),
    ('is no', r'\b(?:are|is|was|were) no\b', 'is not a'),
    ('of or as at the start', r'^(?:As|Of) ', 'the subject first'),
    ('nobody', r'\b(?:[Aa]ny|[Nn]o|[Ss]ome)body\b', 'the function, thread or CPU'),
    ('begin as a noun', r'\b(?:an?|its|the) begin\b', 'start, beginning'),
    ('also if', r'\balso (?:if|in|of|when|while|with|without)\b', 'even if'))]
DOCUMENTS = ('.rst', '.md', '.txt', '.1', '.3')
C_FILES = ('.c', '.h', '.S', '.js', '.css')
SUFFIXES = DOCUMENTS + C_FILES + ('.py', '.sh', '.t', '.mk')
# Leave out test data, and texts that other projects wrote
LEFT_OUT = re.compile(r'tests/(?:ntt|fuzz/corpus|abi)/|LICENSES/|samples/|COPYING|Documentation/perf-ntrace.txt')
# These imperatives end with -ed, -ing or -s, so allow them in the subject of a commit
IMPERATIVES = {'embed', 'exceed', 'feed', 'need', 'proceed', 'seed', 'shed', 'speed', 'spread', 'bring', 'string', 'focus', 'bias'}


def pieces(path, text):
    """Yield (line, text) of each comment, or of each sentence of a document."""
    if path.endswith(C_FILES):
        found = [(m.start(), re.sub(r'(?m)^\s*\*', ' ', m.group(1) or m.group(2)))
                 for m in re.finditer(r'(?s)/\*+(.*?)\*/|(?<![:/])//([^\n]*)', text)]
    elif path.endswith(DOCUMENTS):
        found = [(p.start(), sentence) for p in re.finditer(r'(?m)(?:^[^\s|:=-].*\n?)+', text)
                 for sentence in re.split(r'(?<=[.!?])\s', p.group(0))]
    else:
        found = [(m.start(), re.sub(r'(?m)^\s*#+:?', ' ', m.group(0))) for m in re.finditer(r'(?m)(?:^[ \t]*#(?!!).*\n?)+', text)]
    for start, piece in found:
        piece = ' '.join(piece.split())
        if len(re.findall('[A-Za-z]{2,}', piece)) >= 4 and 'SPDX' not in piece:
            yield text.count('\n', 0, start) + 1, piece


def count(folder, show=False):
    """Return the number of comments and sentences in FOLDER, and the number of those with a habit."""
    total = bad = 0
    for path in subprocess.check_output(['git', 'ls-files', '--', folder], text=True).split('\n'):
        if LEFT_OUT.match(path) or not (path.endswith(SUFFIXES) or path and '.' not in path.split('/')[-1]):
            continue
        try:
            text = open(path, encoding='utf-8').read()
        except (OSError, UnicodeDecodeError):
            continue
        for line, piece in pieces(path, text):
            habits = [(name, better) for name, pattern, better in HABITS if pattern.search(piece)]
            total += 1
            bad += bool(habits)
            for name, better in habits if show else ():
                print(f'{path}:{line}: {name} (better: {better}): {piece[:150]}')
    return total, bad


def ceilings(path):
    wrong = False
    for line in open(path):
        if not line.strip() or line.startswith('#'):
            continue
        folder, ceiling = line.split()
        total, bad = count(folder)
        share = 100 * bad / total if total else 100
        if share > float(ceiling):
            wrong = True
            print(f'{folder}: {bad} of {total} comments and sentences have a habit, {share:.1f} %; {path} allows {ceiling} %')
            print(f'    tests/door/words.py habits {folder} lists them')
    return wrong


def subjects():
    wrong = False
    for line in sys.stdin.read().split('\n'):
        if not line or line.startswith('Merge '):
            continue
        m = re.match(r'[a-z][\w/., -]*: ([A-Za-z-]+)', line)
        verb = m and m.group(1)
        fault = ('has over 72 columns' if len(line) > 72 else 'has no "area: " at its start' if not m else
                 'has a capital behind its area' if verb[0].isupper() else
                 'has no verb in the imperative behind its area' if verb not in IMPERATIVES and
                 re.search(r'(?:ed|ing|[^s]s)$|^(?:an?|all|more|new|no|the|tests?)$', verb) else 'ends with a full stop' if line.endswith('.') else None)
        if fault:
            wrong = True
            print(f'the subject {fault}: {line}')
    return wrong


if len(sys.argv) < 2 or sys.argv[1] not in ('habits', 'ceilings', 'subjects'):
    sys.exit(__doc__)
if sys.argv[1] == 'habits':
    for name in sys.argv[2:] or ['.']:
        print('{}: {} comments and sentences, {} with a habit'.format(name, *count(name, show=True)))
    sys.exit(0)
sys.exit(ceilings(sys.argv[2]) if sys.argv[1] == 'ceilings' else subjects())
