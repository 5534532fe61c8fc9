#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judges what npu-top said in a guest (tools/testbed/guest/top-guest), and a second npu-top on terminals of this host,
as TAP: check-top.py FILE PROGRAM DIRECTORY"""
import json
import os
import re
import sys

top = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))
sys.path.insert(0, os.path.join(top, 'tools/testbed/lib'))
from docblock import difference  # noqa: E402 pylint: disable=wrong-import-position
from toptmux import test_terminal  # noqa: E402 pylint: disable=wrong-import-position

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


def test_nothing(test, looks):
    """One clear line where there is nothing to see."""
    for name, words in (('unloaded', 'the module rknpu_accel is not loaded'), ('unbound', 'is loaded and has no NPU'),
                        ('nothing', 'try as root')):
        text, status = looks[name]
        test(f'{name}: one line, which says "{words}"', status == 1 and text.count('\n') == 1 and words in text)
    test('root has the load without /proc/rknpu', json.loads(looks['debugfs'][0])['load_from'] == 'driver')


def main():
    looks, pids = read(sys.argv[1])
    tests = []

    def test(name, good):
        tests.append((name, bool(good)))

    try:
        data = {name: json.loads(looks[name][0]) for name in ('nobody', 'warm', 'json', 'user', 'after', 'many')}
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
    test('none of 300 clients is left out', len(data['many']['clients']) == 300)
    screen = looks['screen'][0]
    test('the screen has a bar for each core', len(re.findall(r'^core \d \[[| ]{20}\] +[\d.]+ %$', screen, re.M)) == 3)
    test('the screen has a line for each client', len(re.findall(r'^ +\d+ +\d+  rknpu_load ', screen, re.M)) == 2)
    page = os.path.join(top, 'Documentation/accel/rknpu/monitoring.rst')
    test('the documentation shows it so', not difference(page, 'npu-top --once', screen))
    test('a wrong interval is refused', looks['usage'][1] == 2)
    test_terminal(test, sys.argv[2], sys.argv[3])
    test_nothing(test, looks)

    print(f'1..{len(tests)}')
    for number, (name, good) in enumerate(tests, 1):
        print(f'{"ok" if good else "not ok"} {number} - {name}')
    sys.exit(0 if all(good for _, good in tests) else 1)


if __name__ == '__main__':
    main()
