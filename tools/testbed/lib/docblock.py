#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what a command prints with what a page of the documentation shows below it: docblock.py PAGE COMMAND FILE

Numbers, bars and the order of lines that differ in nothing else may be others, and lists may be of other lengths.
"""
import difflib
import re
import sys


def shown(page, command):
    """The lines of the literal block in which the command comes first, below it."""
    with open(page, encoding='utf-8') as f:
        lines = f.read().split('\n')
    start = lines.index('    ' + command) + 1
    block = []
    for line in lines[start:]:
        if line and not line.startswith('    '):
            break
        block.append(line[4:])
    return '\n'.join(block).strip('\n')


def shape(text):
    """What stays the same from run to run."""
    text = re.sub(r'\[[| ]+\]', '[bar]', text)
    text = re.sub(r'0x[0-9a-f]+', 'hex', text)
    # Kernels and hashes are words with digits in them.
    text = re.sub(r'(kernel|module rknpu_accel) [^ ,\n]+', r'\1 X', text)
    text = re.sub(r'\d+(\.\d+)?', 'N', text)
    # What the core did before is another tale each time.
    text = re.sub(r'^  job N of .*$', '  job', text, flags=re.M)
    lines = [re.sub(r' +', ' ', line.rstrip()) for line in text.strip('\n').split('\n')]
    return [line for i, line in enumerate(lines) if not i or line != lines[i - 1]]


def difference(page, command, text):
    """Lines that tell it, or none."""
    return list(difflib.unified_diff(shape(shown(page, command)), shape(text), page, command, lineterm='', n=0))


def main(page, command, path):
    with open(path, encoding='utf-8') as f:
        lines = difference(page, command, f.read())
    print('\n'.join(lines), end='\n' if lines else '')
    return 1 if lines else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
