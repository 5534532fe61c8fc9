#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every row of a table that says what people see names a test of that, and what it quotes is said: check-shown.py PAGE.rst

A table counts if its last column is headed "Shown by". A cell holds, separated by semicolons, targets of make, groups of
"make check GROUPS=", and programs of the selftests with variants of their fixtures or cases. In double quotes the first
column has messages of the driver, with "..." or a number for what differs.
"""
import glob
import os
import re
import sys

top = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))


def read(name):
    with open(os.path.join(top, name), encoding='utf-8') as f:
        return f.read()


def tables(text):
    """Rows of cells of each list-table."""
    for part in re.split(r'^\.\. list-table::.*$', text, flags=re.M)[1:]:
        rows = []
        for line in part.split('\n')[1:]:
            if line.startswith('   * - '):
                rows.append([line[7:]])
            elif line.startswith('     - '):
                rows[-1].append(line[7:])
            elif line.startswith('       '):
                rows[-1][-1] += ' ' + line.strip()
            elif line and not line.startswith('   '):
                break
        yield rows


def sources(name):
    """The files of a test program, or of all."""
    return [os.path.relpath(path, top) for folder in ('selftests', 'tools/lib/tests/guest')
            for path in glob.glob(f'{top}/{folder}/rknpu_{name}.c') + glob.glob(f'{top}/{folder}/rknpu_{name}.sh')]


def groups():
    boots = [name for path in sources('*') for name in re.findall(r'^(?: \*|#) boot: (\S+)', read(path), re.M)]
    return set(boots) | set(re.findall(r'\bhost ([a-z]+) ', read('tools/testbed/bin/check')))


class Shown:
    def __init__(self):
        self.targets = set(re.findall(r'^([a-z-]+):', read('Makefile'), re.M))
        self.groups = groups()
        self.driver = ''
        for directory, _, names in os.walk(os.path.join(top, 'drivers/accel/rknpu')):
            self.driver += ''.join(read(os.path.join(directory, n)) for n in names if n.endswith('.c'))
        # A message may be in several pieces.
        self.driver = re.sub(r'"\s+"', '', self.driver)

    def command(self, words):
        if words[:2] == ['make', 'check'] and words[2:]:
            named = ' '.join(words[2:]).removeprefix('GROUPS=').strip('"').split()
            return [f'no group {name}' for name in named if name not in self.groups]
        return [] if len(words) == 2 and words[1] in self.targets else [f'no target {words[1:]}']

    @staticmethod
    def program(item):
        name, *rest = re.findall(r'``([a-z0-9_.]+)``', item)
        paths = sources(name.removeprefix('rknpu_'))
        if not paths:
            return [f'no program {name}']
        text = read(paths[0])
        if 'rknpu_faults.h' in text:
            text += read('selftests/rknpu_faults.h')
        if not rest:
            return [f'{name}: neither a case nor a variant']
        known = set(re.findall(r'RK_TEST(?:_F)?(?:_TIMEOUT)?\(\s*(?:[a-z0-9_]+,\s*)?([a-z0-9_]+),', text))
        known |= set(re.findall(r'\bROW\(([a-z0-9_]+),', text))
        return [f'{name}: no {what}' for what in rest if what not in known]

    def item(self, item):
        words = re.fullmatch(r'``(make [^`]+)``', item)
        if words:
            return self.command(words[1].split())
        return self.program(item) if item.startswith('``rknpu_') else [f'"{item}" is neither a command nor a program']

    def quote(self, text):
        """A message: all of it that the driver does not fill in."""
        whole = [piece for piece in re.split(r'\.\.\.|\d+|0x', text) if piece.strip()]
        if whole and all(piece in self.driver for piece in whole):
            return []
        return [f'the driver does not say "{text}"']

    def row(self, row):
        for text in re.findall(r'"([^"]+)"', row[0]):
            yield from self.quote(text)
        for item in row[-1].split(';'):
            yield from self.item(item.strip())


def main(page):
    shown, count, bad = Shown(), 0, 0
    for rows in tables(read(page)):
        if rows[0][-1] != 'Shown by':
            continue
        for row in rows[1:]:
            count += 1
            for why in shown.row(row):
                print(f'{page}: {row[0]}: {why}')
                bad += 1
    print(f'{count} rows')
    return 1 if bad or not count else 0


sys.exit(main(*sys.argv[1:]))
