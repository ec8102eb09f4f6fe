#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Speak the debug adapter protocol with gdb, as an editor does: gdb-adapter.py TARGET GDB ARGUMENTS...

TARGET is what gdb's command "target remote" gets. Each thread must go to the same lines forwards and backwards."""
import json
import subprocess
import sys


class Adapter:
    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.nr = 0

    def send(self, command, **arguments):
        self.nr += 1
        data = json.dumps({'seq': self.nr, 'type': 'request', 'command': command, 'arguments': arguments}).encode()
        self.child.stdin.write(b'Content-Length: %d\r\n\r\n%s' % (len(data), data))
        self.child.stdin.flush()
        return self.nr

    def message(self):
        size = 0
        while True:
            line = self.child.stdout.readline()
            if not line:
                sys.exit('the adapter has ended')
            if line.startswith(b'Content-Length:'):
                size = int(line.split(b':')[1])
            if not line.strip() and size:
                return json.loads(self.child.stdout.read(size))

    def wait(self, **wanted):
        while True:
            message = self.message()
            if all(message.get(key) == value for key, value in wanted.items()):
                return message

    def ask(self, command, **arguments):
        reply = self.wait(type='response', request_seq=self.send(command, **arguments))
        if not reply['success']:
            print('# %s: %s' % (command, reply.get('message')))
        return reply.get('body') or {}

    def go(self, command, thread):
        """Move a thread. Return the thread that has stopped, its functions and its line."""
        nr = self.send(command, threadId=thread)
        if not self.wait(type='response', request_seq=nr)['success']:
            return command + ' has failed'
        stopped = self.wait(event='stopped')['body']['threadId']
        # request the stacks of the other threads as well, because an editor shows all threads
        for other in reversed(self.ask('threads')['threads']):
            if other['id'] != stopped:
                self.ask('stackTrace', threadId=other['id'])
        stack = self.ask('stackTrace', threadId=stopped)['stackFrames']
        return stopped, [frame['name'] for frame in stack], stack[0]['line']


def ok(name, good, more):
    print('%s - %s%s' % ('ok' if good else 'not ok', name, '' if good else ' %s' % (more,)), flush=True)


def main():
    adapter = Adapter(sys.argv[2:])
    can = adapter.ask('initialize', clientID='test', adapterID='gdb')
    ok('the debug adapter of gdb can step back', can.get('supportsStepBack'), can)
    attach = adapter.send('attach', target=sys.argv[1])
    adapter.ask('setFunctionBreakpoints', breakpoints=[{'name': 'request'}])
    adapter.ask('configurationDone')
    adapter.wait(type='response', request_seq=attach)
    threads = [thread['id'] for thread in adapter.ask('threads')['threads']]
    for thread in threads:
        adapter.ask('setFunctionBreakpoints', breakpoints=[{'name': 'request'}])
        stopped = [adapter.go('continue', thread)]
        while stopped[-1][0] != thread and len(stopped) < 100:
            stopped.append(adapter.go('continue', thread))
        ok('the debug adapter stops thread %d at a breakpoint' % thread,
           stopped[-1][0] == thread and all(names == ['request', 'main'] for _, names, _ in stopped), stopped)
        adapter.ask('setFunctionBreakpoints', breakpoints=[])
        there = stopped[-1:] + [adapter.go('next', thread) for _ in range(5)]
        back = [adapter.go('stepBack', thread) for _ in range(4)]
        ok('stepBack goes to the lines of next in thread %d' % thread, back == there[-2:0:-1], (there, back))
    adapter.ask('setFunctionBreakpoints', breakpoints=[{'name': 'request'}])
    place = adapter.go('reverseContinue', threads[0])
    ok('reverseContinue goes to the previous breakpoint', place[1:] == stopped[-1][1:], place)
    adapter.ask('disconnect')
    adapter.child.wait()


main()
