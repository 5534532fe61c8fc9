#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judges what npu-top said in a guest (tools/testbed/guest/top-guest), as TAP: check-top.py FILE"""
import json
import os
import re
import sys

top = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))
sys.path.insert(0, os.path.join(top, 'tools/testbed/lib'))
from docblock import difference  # noqa: E402 pylint: disable=wrong-import-position

# A guest shares its host with others, so a core that always has jobs is not always busy.
BUSY = 20


def read(path):
    """Text and exit status by the name of the look, and the pids of the clients."""
    looks, pids, name = {}, [], None
    with open(path, encoding='utf-8') as f:
        for line in f:
            if line.startswith('== pids '):
                pids = [int(word) for word in line.split()[2:]]
            elif line.startswith('== status '):
                looks[name] = (''.join(text), int(line.split()[2]))
            elif line.startswith('== '):
                name, text = line.split()[1], []
            else:
                text.append(line)
    return looks, pids


class Screen:
    """A terminal that knows what npu-top sends, and nothing else."""

    SEQUENCE = re.compile(r'\x1b\[(\??)([0-9;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]')

    def __init__(self, size):
        self.other, self.shows_cursor, self.faults = False, True, []
        self.rows = []
        self.resize(size)

    def resize(self, size):
        """Another size; what was there stays."""
        self.columns, self.lines = (int(number) for number in size.split('x'))
        self.rows = [row[:self.columns].ljust(self.columns) for row in self.rows[:self.lines]]
        self.rows += [' ' * self.columns] * (self.lines - len(self.rows))
        self.x = self.y = 0

    def put(self, char):
        if self.x == self.columns:
            self.faults.append('wrapped')
            self.x, self.y = 0, min(self.y + 1, self.lines - 1)
        row = self.rows[self.y]
        self.rows[self.y] = row[:self.x] + char + row[self.x + 1:]
        self.x += 1

    def control(self, private, numbers, what):
        if private:
            on = what == 'h'
            if numbers == '1049':
                self.other = on
            elif numbers == '25':
                self.shows_cursor = on
            else:
                self.faults.append(f'unknown mode {numbers}')
        elif what == 'H':
            y, x = (int(number) - 1 for number in (numbers or '1;1').split(';'))
            if y >= self.lines or x >= self.columns:
                self.faults.append('outside')
            self.y, self.x = min(y, self.lines - 1), min(x, self.columns - 1)
        elif what == 'K' and numbers == '2':
            self.rows[self.y] = ' ' * self.columns
        elif what == 'J':
            first = 0 if numbers == '2' else self.y
            self.rows[first:] = [' ' * self.columns] * (self.lines - first)
        else:
            self.faults.append(f'unknown sequence {numbers}{what}')

    def feed(self, text):
        at = 0
        for found in self.SEQUENCE.finditer(text):
            if found.start() != at:
                self.faults.append('unknown bytes')
            at = found.end()
            if found[3]:
                self.control(*found.groups())
            elif found[0] == '\r':
                self.x = 0
            elif found[0] == '\n':
                if self.y == self.lines - 1:
                    self.faults.append('scrolled')
                self.y = min(self.y + 1, self.lines - 1)
            else:
                self.put(found[0])


def on_terminal(text, size):
    """Of what rknpu_terminal printed: the screen, rows after each step, and what it said in the end."""
    screen, steps, end = Screen(size), [], {}
    pending = ''
    for line in text.splitlines():
        word, _, rest = line.partition(' ')
        if word == 'out':
            pending += bytes.fromhex(rest).decode()
            continue
        # A sequence can be in two pieces.
        screen.feed(pending)
        pending = ''
        if steps:
            steps[-1][1] = list(screen.rows)
        if word == 'step':
            if rest.startswith('size:'):
                screen.resize(rest[5:])
            steps.append([rest, None])
        else:
            end[word] = rest
    return screen, steps, end


def is_picture(rows, cores=3, clients=2, memory=True, pid=True):
    """Is that one picture, whole, with nothing left of another?"""
    text = [row.rstrip() for row in rows]
    want = [r'NPU at \d+ of \d+ MHz'] + [r'core \d \[[| ]{20}\] +[\d.]+ %'] * cores + ['']
    want += [' *CLIENT' + ' +PID' * pid + ' +NAME' + ' +MEMORY' * memory + r'( +CORE\d)' + f'{{{cores}}}']
    want += [r' +\d+' + r' +\d+' * pid + ' +rknpu_load' + r' +\d+ KiB' * memory + r'( +[\d.]+%)' + f'{{{cores}}}'] * clients
    want += [''] * (len(rows) - len(want))
    return len(text) == len(want) and all(re.fullmatch(w, row) for w, row in zip(want, text))


def test_terminal(test, looks):
    screen, steps, end = on_terminal(looks['keys'][0], '80x24')
    pictures = [rows for step, rows in steps if step == 'picture']
    test('terminal: the first picture is whole', is_picture(pictures[0]))
    test('terminal: the second one replaces it', is_picture(pictures[1]) and pictures[1] != pictures[0])
    test('terminal: a larger one is used from the next picture on', is_picture(pictures[2]))
    test('terminal: a narrow one has no room for the memory', is_picture(pictures[3], memory=False))
    test('terminal: a low one has the first lines', is_picture(pictures[4], clients=1, memory=False, pid=False))
    test('terminal: a tiny one has their beginnings',
         [row.rstrip() for row in pictures[5]] == [row[:12].rstrip() for row in pictures[4][:3]])
    test('terminal: it never wraps or scrolls, and sends nothing else', not screen.faults)
    test('terminal: another key does nothing, q ends it', end == {'status': '0', 'modes': 'same'})
    test('terminal: it leaves as it came', not screen.other and screen.shows_cursor)
    for name, what in (('interrupted', '^C ends it'), ('stopped', 'it goes on after ^Z'), ('early', 'it ends before a picture')):
        screen, steps, end = on_terminal(looks[name][0], '80x24')
        test(f'terminal: {what}', end == {'status': '0', 'modes': 'same'} and not screen.faults)
        test(f'terminal: {what}, and leaves as it came', not screen.other and screen.shows_cursor)
        test(f'terminal: {what}, with whole pictures', all(is_picture(rows) for step, rows in steps if step == 'picture'))
    screen, steps, _ = on_terminal(looks['fewer'][0], '80x24')
    pictures = [rows for step, rows in steps if step == 'picture']
    test('terminal: a client that is gone leaves nothing', is_picture(pictures[0]) and is_picture(pictures[-1], clients=1))


def test_nothing(test, looks):
    """One clear line where there is nothing to see."""
    for name, words in (('unloaded', 'the module rknpu_accel is not loaded'), ('unbound', 'is loaded and has no NPU'),
                        ('nothing', 'try as root')):
        text, status = looks[name]
        test(f'{name}: one line, which says "{words}"', status == 1 and text.count('\n') == 1 and words in text)
    screen, _, end = on_terminal(looks['nothing-on-screen'][0], '80x24')
    test('nothing, on a terminal: the line stays to be read',
         end == {'status': '1', 'modes': 'same'} and not screen.other and 'try as root' in ''.join(screen.rows))
    test('root has the load without /proc/rknpu', json.loads(looks['debugfs'][0])['load_from'] == 'driver')


def main():
    looks, pids = read(sys.argv[1])
    tests = []

    def test(name, good):
        tests.append((name, bool(good)))

    try:
        data = {name: json.loads(looks[name][0]) for name in ('nobody', 'warm', 'json', 'user', 'after')}
    except (KeyError, ValueError) as error:
        print(f'1..1\nnot ok 1 - each look is one line of JSON: {error}')
        sys.exit(1)
    test('without clients no core is busy', data['nobody']['cores'] == [0, 0, 0] and not data['nobody']['clients'])
    for name in ('warm', 'json'):
        look = data[name]
        by_pid = {client['pid']: client for client in look['clients']}
        test(f'{name}: both clients are there, and nobody else', sorted(by_pid) == sorted(pids))
        test(f'{name}: they have their names', all(c['comm'] == 'rknpu_load' for c in look['clients']))
        for core, pid in enumerate(pids):
            use = by_pid.get(pid, {'cores': [0, 0, 0]})['cores']
            test(f'{name}: client on core {core} is busy there alone',
                 use[core] > BUSY and not any(use[:core] + use[core + 1:]))
            test(f'{name}: it is not busy for longer than there is time', use[core] <= 101)
        test(f'{name}: BOs are counted', all(c['memory'] > 0 for c in look['clients']))
        test(f'{name}: the busiest client comes first',
             [sum(c['cores']) for c in look['clients']] == sorted((sum(c['cores']) for c in look['clients']), reverse=True))
        test(f'{name}: the load is the driver\'s', look['load_from'] == 'driver')
        test(f'{name}: clients have different numbers', len({c['client'] for c in look['clients']}) == 2)
    test('cores 0 and 1 are busy, core 2 is not',
         data['json']['cores'][0] > BUSY and data['json']['cores'][1] > BUSY and data['json']['cores'][2] == 0)
    test('another user sees the cores', data['user']['cores'][0] > BUSY and looks['user'][1] == 0)
    test('another user sees no client of root', not data['user']['clients'])
    test('killed clients are gone', not data['after']['clients'] and data['after']['cores'] == [0, 0, 0])
    screen = looks['screen'][0]
    test('the screen has a bar for each core', len(re.findall(r'^core \d \[[| ]{20}\] +[\d.]+ %$', screen, re.M)) == 3)
    test('the screen has a line for each client', len(re.findall(r'^ +\d+ +\d+  rknpu_load ', screen, re.M)) == 2)
    page = os.path.join(top, 'Documentation/accel/rknpu/monitoring.rst')
    test('the documentation shows it so', not difference(page, 'npu-top --once', screen))
    test('a wrong interval is refused', looks['usage'][1] == 2)
    test_terminal(test, looks)
    test_nothing(test, looks)

    print(f'1..{len(tests)}')
    for number, (name, good) in enumerate(tests, 1):
        print(f'{"ok" if good else "not ok"} {number} - {name}')
    sys.exit(0 if all(good for _, good in tests) else 1)


if __name__ == '__main__':
    main()
