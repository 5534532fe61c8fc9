# SPDX-License-Identifier: GPL-2.0-only
"""What instructions are spent on: profile.py SYMBOLS START TASKS PER_JOB DRIVER JOBS <LOG

LOG is QEMU's "log exec,nochain", an instruction a line. Counts from the first START to the one after TASKS others, by
the functions of SYMBOLS (/proc/kallsyms), and prints rows of bin/profile: sums of the module, of the kernel and of user
space, and functions that take a hundredth or more.
"""
import bisect
import collections
import sys


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


def main(path, start, tasks, per_job, driver, jobs):
    symbols = read_symbols(path)
    begins = [s[0] for s in symbols]
    # The compiler may have split it.
    first = next(s[0] for s in symbols if s[1].split('.')[0] == start)
    counts, seen = collections.Counter(), 0
    for pc in addresses(sys.stdin.buffer):
        if pc == first:
            seen += 1
            if seen > tasks:
                break
        if seen:
            counts[pc] += 1
    else:
        raise SystemExit('the log ends early')
    functions, parts = collections.Counter(), collections.Counter()
    for pc, n in counts.items():
        part, name = 'user space', '-'
        if pc >> 55:
            _, name, part = symbols[bisect.bisect_right(begins, pc) - 1]
        functions[part, name] += n
        parts[part] += n
    whole, count = sum(parts.values()), tasks // per_job

    def row(part, name, n):
        print(driver, jobs, part, name, f'{n / count:.0f}', f'{n / whole:.3f}', sep='\t')

    row('all', '', whole)
    for part, n in parts.most_common():
        row(part, '', n)
    for (part, name), n in functions.most_common():
        if name != '-' and n * 100 >= whole:
            row(part, name, n)


main(*sys.argv[1:3], *map(int, sys.argv[3:5]), *sys.argv[5:7])
