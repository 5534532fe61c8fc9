# SPDX-License-Identifier: GPL-2.0-only
"""What instructions are spent on: profile.py SYMBOLS START STARTS JOBS DRIVER WHAT <LOG

LOG is QEMU's "log exec,nochain" of one CPU, an instruction a line. Counts from the first START to the one after STARTS
others, by the functions of SYMBOLS (/proc/kallsyms), and prints rows of bin/profile: sums of the module, of the kernel
and of user space; functions that take a hundredth or more; and functions of the driver that do so together with what
they call, up to the next interrupt or change of thread ("for DRIVER").
"""
import bisect
import collections
import sys

# The calls into the kernel, where that is far away, lie behind the module's last function, which is for unloading.
PLT = 'calls into the kernel'


def read_symbols(path):
    symbols = []
    with open(path, encoding='ascii') as f:
        for row in f:
            word = row.split()
            if len(word) >= 3:
                symbols.append((int(word[0], 16), word[2], word[3].strip('[]') if len(word) > 3 else 'kernel'))
    symbols.sort()
    return symbols


def addresses(log):
    for row in log:
        if row.startswith(b'Trace '):
            at = row.index(b'/') + 1
            yield int(row[at:at + 16], 16)


def place(symbols, begins, pc):
    if not pc >> 55:
        return '-', 'user space'
    at = bisect.bisect_right(begins, pc)
    _, name, part = symbols[at - 1]
    last = part != 'kernel' and (at == len(symbols) or symbols[at][2] != part)
    return (PLT if last else name), part


class Caller:
    """The driver's function that the CPU is in or was called from, as far as that can be told."""

    def __init__(self, module):
        self.module, self.name = module, None

    def at(self, name, part):
        if part == self.module:
            if name != PLT:
                self.name = name
        elif name in ('vectors', '__schedule', '-'):
            self.name = None
        return self.name


def main(path, start, starts, count, driver, what):
    symbols = read_symbols(path)
    begins = [s[0] for s in symbols]
    # The compiler may have split it.
    first = next(s[0] for s in symbols if s[1].split('.')[0] == start)
    module = next(s[2] for s in symbols if s[0] == first)
    functions, parts, whence, seen = collections.Counter(), collections.Counter(), collections.Counter(), 0
    caller, cache = Caller(module), {}
    for pc in addresses(sys.stdin.buffer):
        if pc == first:
            seen += 1
            if seen > starts:
                break
        if seen:
            if pc not in cache:
                cache[pc] = place(symbols, begins, pc)
            name, part = cache[pc]
            functions[part, name] += 1
            whence[caller.at(name, part)] += 1
    else:
        raise SystemExit('the log ends early')
    for (part, _), n in functions.items():
        parts[part] += n
    whole = sum(parts.values())

    def row(part, name, n):
        print(driver, what, part, name, f'{n / count:.0f}', f'{n / whole:.3f}', sep='\t')

    row('all', '', whole)
    for part, n in parts.most_common():
        row(part, '', n)
    for (part, name), n in functions.most_common():
        if name != '-' and n * 100 >= whole:
            row(part, name, n)
    for name, n in whence.most_common():
        if name and n * 100 >= whole:
            row(f'for {module}', name, n)


main(*sys.argv[1:3], *map(int, sys.argv[3:5]), *sys.argv[5:7])
