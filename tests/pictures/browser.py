# SPDX-License-Identifier: GPL-2.0-only
"""Control Chromium by its DevTools protocol. The commands use pipes, so that no network port is open.

    with Browser() as page:
        page.open('/tmp/page.html')
        page.key('w')
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = 'chromium', 'chromium-browser', 'google-chrome', 'chromium-headless-shell'
KEYS = {'Enter': ('Enter', 13, '\r'), 'Escape': ('Escape', 27, ''), 'ArrowDown': ('ArrowDown', 40, ''),
        'ArrowLeft': ('ArrowLeft', 37, ''), 'ArrowRight': ('ArrowRight', 39, ''), 'Tab': ('Tab', 9, '')}


def executable():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, size=(1440, 900)):
        self.folder = tempfile.mkdtemp()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # Chromium reads commands from file descriptor 3, and writes replies to file descriptor 4
        command = [executable(), '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
                   '--no-first-run', '--disable-background-networking', '--disable-component-update',
                   '--disable-dev-shm-usage', '--force-color-profile=srgb', '--hide-scrollbars',
                   f'--window-size={size[0]},{size[1]}', f'--user-data-dir={self.folder}', 'about:blank']

        def pipes():
            high = os.dup(to_browser), os.dup(from_browser)
            high = tuple(os.dup2(fd, 100 + n) for n, fd in enumerate(high))
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(command, preexec_fn=pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b'', 0, None
        self.requests, self.problems, self.events = [], [], []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Network', 'Log':
            self.call(f'{domain}.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self):
        while b'\0' not in self.buffer:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise SystemExit('browser: it has ended')
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\0', 1)
        message = json.loads(line)
        method, params = message.get('method'), message.get('params', {})
        if method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])
        elif method == 'Runtime.exceptionThrown':
            self.problems.append(params['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        elif method == 'Log.entryAdded':
            self.problems.append(params['entry']['text'])
        elif method == 'Page.javascriptDialogOpening':
            self.problems.append('a dialog was opened: ' + params['message'])
        if method:
            self.events.append(method)
        return message

    def call(self, method, **params):
        self.number += 1
        number = self.number
        message = {'id': number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.output, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == number:
                if 'error' in answer:
                    raise SystemExit(f'browser: {method}: {answer["error"]}')
                return answer['result']

    def open(self, path):
        """Open the page. Return the time in ms until the browser drew it first, and until it had read the whole page"""
        self.events.clear()
        begin = time.monotonic()
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        drawn = self.wait("performance.getEntriesByName('ntrace-drawn').length > 0") and (time.monotonic() - begin) * 1e3
        self.wait("document.readyState === 'complete'")
        return drawn, (time.monotonic() - begin) * 1e3

    def run(self, script):
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise SystemExit(f'browser: {script}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return True
            time.sleep(0.01)
        return False

    def settle(self):
        """Wait until the browser has drawn the requested view"""
        self.run('new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))')
        self.wait('ntrace.state().complete')
        return self.run('ntrace.state()')

    def key(self, key, text=None):
        name, code, character = KEYS.get(key, (key, ord(key.upper()) if len(key) == 1 else 0, key))
        common = {'key': name, 'windowsVirtualKeyCode': code}
        self.call('Input.dispatchKeyEvent', type='keyDown', text=character, **common)
        self.call('Input.dispatchKeyEvent', type='keyUp', **common)
        return self.settle()

    def type(self, text):
        self.call('Input.insertText', text=text)
        return self.settle()

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y, times=1):
        for n in range(1, times + 1):
            self.mouse('mousePressed', x, y, button='left', clickCount=n)
            self.mouse('mouseReleased', x, y, button='left', clickCount=n)
        return self.settle()

    def click_on(self, selector):
        box = self.run(f'(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())')
        return self.click(*box)

    def drag(self, x, y, to_x, to_y, modifiers=0):
        self.mouse('mousePressed', x, y, button='left', clickCount=1, modifiers=modifiers)
        for n in range(1, 6):
            self.mouse('mouseMoved', x + (to_x - x) * n / 5, y + (to_y - y) * n / 5, button='left', buttons=1, modifiers=modifiers)
        self.mouse('mouseReleased', to_x, to_y, button='left', clickCount=1, modifiers=modifiers)
        return self.settle()

    def wheel(self, x, y, dx, dy, modifiers=0):
        self.mouse('mouseWheel', x, y, deltaX=dx, deltaY=dy, modifiers=modifiers)
        time.sleep(0.05)
        return self.settle()

    def screenshot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
