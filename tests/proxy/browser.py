"""A headless Chromium, driven over its debugging pipe: loads a page, evaluates, takes pictures."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')

FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe']


class Browser:
    """One page in a browser of its own; errors collects what the console and the page complain of."""

    def __init__(self, seconds=60):
        self.seconds = seconds
        self.errors = []
        self.directory = tempfile.mkdtemp(prefix='ketamad-browser.')
        self.serial = 0
        self.buffer = b''
        self.session = None
        to_read, self.to = os.pipe()
        self.from_, to_write = os.pipe()

        # the browser reads commands from descriptor 3 and writes answers to 4
        def prepare():
            os.dup2(to_read, 100)
            os.dup2(to_write, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)
        self.process = subprocess.Popen(
            [CHROMIUM] + FLAGS + ['--user-data-dir=' + self.directory, 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=prepare, close_fds=False, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        target = self.call('Target.createTarget', {'url': 'about:blank'})['targetId']
        self.session = self.call('Target.attachToTarget',
                                 {'targetId': target, 'flatten': True})['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def _message(self, deadline):
        while b'\0' not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_], [], [], left)[0]:
                raise AssertionError('the browser does not answer')
            data = os.read(self.from_, 1 << 20)
            if not data:
                raise AssertionError('the browser has ended')
            self.buffer += data
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def _note(self, message):
        params = message.get('params', {})
        if message.get('method') == 'Runtime.exceptionThrown':
            self.errors.append(json.dumps(params['exceptionDetails'])[:1000])
        elif message.get('method') == 'Runtime.consoleAPICalled' and params['type'] == 'error':
            self.errors.append(json.dumps(params['args'])[:1000])
        elif message.get('method') == 'Log.entryAdded' and params['entry']['level'] == 'error':
            self.errors.append(json.dumps(params['entry'])[:1000])

    def call(self, method, params=None):
        self.serial += 1
        message = {'id': self.serial, 'method': method, 'params': params or {}}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + self.seconds
        while True:
            answer = self._message(deadline)
            if answer.get('id') == self.serial:
                if 'error' in answer:
                    raise AssertionError('%s: %s' % (method, answer['error']))
                return answer['result']
            self._note(answer)

    def open(self, url, width=1440, height=900, dark=False):
        self.call('Emulation.setDeviceMetricsOverride',
                  {'width': width, 'height': height, 'deviceScaleFactor': 1,
                   'mobile': width < 600})
        self.call('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}]})
        self.call('Page.navigate', {'url': url})

    def evaluate(self, expression):
        result = self.call('Runtime.evaluate', {'expression': expression, 'returnByValue': True})
        if 'exceptionDetails' in result:
            raise AssertionError(result['exceptionDetails'])
        return result['result'].get('value')

    def wait(self, expression, seconds=20):
        """Until the expression is true in the page; returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError('not within %g s: %s\n%s' % (
                    seconds, expression, self.evaluate('document.body.innerText')))
            time.sleep(0.1)

    def picture(self, path):
        """The whole page as a PNG."""
        data = self.call('Page.captureScreenshot', {'captureBeyondViewport': True})['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def stop(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        shutil.rmtree(self.directory, ignore_errors=True)
