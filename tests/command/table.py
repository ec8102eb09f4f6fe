#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Run each command while its output fails or a signal ends it, and print a table of the exit statuses.

    table.py NTRACE MIDDLE INPUTS COLUMN < COMMANDS

Each line of COMMANDS is a command. In this line, "file" or "folder" is the output, and words that end with "own" are
inputs, which are copied from the folder INPUTS. MIDDLE is middle.c as a library. COLUMN is a key of CONDITIONS. In
each case, the inputs must not change, an old output must keep its contents, and no other file may remain.
"""
import filecmp
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

OLD = b'old contents\n'
NOBODY = 65534
CLOSED, FULL = 'the reader of its pipe has gone', 'its disk is full'
NO_PIPE = re.compile('a file and not a pipe|a folder and not|Illegal seek|Not a directory')
FAILED = re.compile(r'^ntrace: .*(fail|cannot|not |needs|reads this file|No space|too large)', re.M)


class Run:
    """One execution of a command in a new folder"""

    def __init__(self, ntrace, middle, inputs, line):
        self.ntrace, self.middle, self.inputs = ntrace, middle, inputs
        self.words = line.split()
        self.output = next((word for word in self.words if word in ('file', 'folder')), None)
        self.folder = tempfile.mkdtemp(dir=os.path.dirname(inputs))
        self.temporary = tempfile.mkdtemp(dir=os.path.dirname(inputs))
        for name in os.listdir(inputs):
            shutil.copy2(os.path.join(inputs, name), self.folder)
        self.before = {}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def old_files(self):
        """Return the paths of the old output"""
        if self.output == 'folder' and os.path.isdir(self.path('folder')):
            return [self.path('folder', name) for name in os.listdir(self.path('folder')) if '.part-' not in name]
        return [self.path('file')] if self.output == 'file' else []

    def put_output(self):
        """Create an old output. If the output is a folder, create the files that the command writes"""
        if self.output == 'folder' and not self.old_files():
            self.run()
        for path in self.old_files():
            with open(path, 'wb') as out:
                out.write(OLD)

    def remove_output(self):
        for path in self.old_files():
            os.remove(path)
        if self.output == 'folder':
            os.rmdir(self.path('folder'))

    def with_output(self, name):
        return [name if word == self.output else word for word in self.words]

    def run(self, words=None, stdout=subprocess.DEVNULL, before=None, **env):
        """Return (exit status, messages). After a signal, the status is the negative number of the signal"""
        self.before = self.listing()
        os.chmod(self.temporary, 0o777)
        child = subprocess.run([self.ntrace, *(words or self.words)], cwd=self.folder, input=b'+$?#3f' if self.words[0] == 'gdb' else b'', stdout=stdout,
                               stderr=subprocess.PIPE, check=False, timeout=60, preexec_fn=before,
                               env={**os.environ, 'TMPDIR': self.temporary, 'HOME': self.temporary, **env})
        return child.returncode, child.stderr.decode(errors='replace')

    def listing(self):
        return sorted(os.path.relpath(os.path.join(at, name), self.folder)
                      for at, folders, files in os.walk(self.folder) for name in folders + files)

    def wrong(self, may_leave_part=False):
        """Return which files the command has changed, or nothing"""
        for name in os.listdir(self.inputs):
            if not filecmp.cmp(os.path.join(self.inputs, name), self.path(name), shallow=False):
                return f'{name} was changed'
        for path in filter(os.path.isfile, self.old_files()):
            with open(path, 'rb') as file:
                if file.read() != OLD:
                    return 'the old output was changed'
        new = [name for name in self.listing() if name not in self.before and not (may_leave_part and '.part-' in name)]
        gone = [name for name in self.before if name not in self.listing()]
        left = os.listdir(self.temporary)
        return ', '.join([*(f'{name} is new' for name in new), *(f'{name} is gone' for name in gone), *(f'{name} is left' for name in left)])

    def end(self):
        shutil.rmtree(self.folder)
        shutil.rmtree(self.temporary)


def full_files():
    """Limit the size of files to 0, which acts like a full disk"""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def full_disk(run):
    if run.output:
        run.put_output()
        status, said = run.run(before=full_files)
    else:
        with open('/dev/full', 'wb') as full:
            status, said = run.run(stdout=full)
    return status, said, status == 2 and FAILED.search(said)


def no_temporary(run):
    """Only the standard output can be written. A command that needs temporary files must report their failure"""
    if run.output:
        return full_disk(run)
    status, said = run.run(before=full_files)
    return status, said, status in (0, 1) or (status == 2 and FAILED.search(said))


def default_signals():
    for number in signal.SIGPIPE, signal.SIGINT, signal.SIGTERM:
        signal.signal(number, signal.SIG_DFL)


def to_pipe(run, before):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run.run(run.with_output('-'), stdout=writer, before=before)
    finally:
        os.close(writer)


def closed_pipe(run):
    """A closed pipe ends the command by SIGPIPE. If SIGPIPE is ignored, the command reports the failure. Some outputs
    refuse pipes"""
    status, said = to_pipe(run, lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    if status == 2 and FAILED.search(said) and not NO_PIPE.search(said) and not run.wrong():
        status, said = to_pipe(run, default_signals)
        return status, said, status == -signal.SIGPIPE
    return status, said, status == 2 and FAILED.search(said)


def over_input(run):
    owns = [word for word in run.words if word.endswith('own')]
    if not owns:
        return None
    if run.output:
        status, said = run.run(run.with_output(owns[-1]))
    else:
        with open(run.path(owns[-1]), 'ab') as out:
            status, said = run.run(stdout=out)
    return status, said, status == 2 and ('reads this file' in said or (run.output == 'folder' and 'Not a directory' in said))


def directory(run):
    """Folders have the names of all output files, so that no file can be created"""
    if not run.output:
        return None
    run.put_output()
    for path in run.old_files():
        os.remove(path)
        os.mkdir(path)
    status, said = run.run()
    return status, said, status == 2 and FAILED.search(said)


def as_nobody():
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def read_only(run):
    if run.output:
        run.put_output()
    os.chmod(run.folder, 0o555)
    status, said = run.run(before=as_nobody)
    return status, said, status == 2 and FAILED.search(said) if run.output else status in (0, 1)


def in_the_middle(number):
    def ended(run):
        count = os.path.join(run.temporary, 'count')
        run.run(before=default_signals, LD_PRELOAD=run.middle, END_COUNT=count, END_BY='0', END_AFTER='-1')
        with open(count, encoding='ascii') as text:
            most = int(text.read())
        os.remove(count)
        run.put_output()
        for part, old in (1, True), (3, True), (3, number == signal.SIGKILL):
            if not old:
                run.remove_output()
            status, said = run.run(before=default_signals, LD_PRELOAD=run.middle, END_BY=str(int(number)), END_AFTER=str(most * part // 4))
            if status != -number or run.wrong(number == signal.SIGKILL):
                return status, said, False
        return status, said, True
    return ended


CONDITIONS = {
    'full': full_disk, 'nothing-temporary': no_temporary, 'closed-pipe': closed_pipe, 'over-input': over_input, 'directory': directory,
    'read-only': read_only, 'SIGINT': in_the_middle(signal.SIGINT), 'SIGTERM': in_the_middle(signal.SIGTERM), 'SIGKILL': in_the_middle(signal.SIGKILL),
}


def main(ntrace, middle, inputs, column):
    bad = 0
    for line in sys.stdin:
        run = Run(ntrace, middle, inputs, line)
        result = CONDITIONS[column](run)
        if result:
            status, said, right = result
            wrong = run.wrong(column == 'SIGKILL')
            ok = right and not wrong
            print(f'{"" if ok else "WRONG: "}{line.strip()}: {status} {wrong}', '' if ok else said)
            bad += not ok
        run.end()
    return bad != 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
