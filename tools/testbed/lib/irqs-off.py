# SPDX-License-Identifier: GPL-2.0-only
"""How many instructions a job runs with interrupts off: irqs-off.py SYMBOLS START JOBS WHAT <LOG

LOG is QEMU's "log exec,cpu,nochain" of one CPU, an instruction and its registers after each other. Counts from the first
call of START, of which each job has one, and prints lines "count MEASURE UNIT VALUE".
"""
import statistics
import sys

PSTATE_I = 1 << 7


def addresses(path, start):
    with open(path, encoding='ascii') as f:
        # The compiler may have split it.
        return {int(w[0], 16) for w in map(str.split, f) if len(w) >= 3 and w[2].split('.')[0] == start}


def states(log):
    """(address, interrupts are off) of each instruction."""
    pc = None
    for row in log:
        if row.startswith(b'Trace '):
            at = row.index(b'/') + 1
            pc = int(row[at:at + 16], 16)
        elif b'PSTATE=' in row and pc is not None:
            at = row.index(b'PSTATE=') + 7
            yield pc, bool(int(row[at:at + 8], 16) & PSTATE_I)
            pc = None


def main(symbols, start, jobs, what):
    first = addresses(symbols, start)
    if not first:
        raise SystemExit(f'there is no {start}')
    seen = off = run = 0
    longest = [0]
    for pc, masked in states(sys.stdin.buffer):
        if pc in first:
            seen += 1
            if seen > jobs:
                break
            longest.append(0)
        if not seen:
            continue
        off += masked
        run = run + 1 if masked else 0
        longest[-1] = max(longest[-1], run)
    else:
        raise SystemExit('the log ends early')
    print('count', f'{what}: instructions with interrupts off', 'insns/job', f'{off / jobs:.3f}', sep='\t')
    # Not that of a job in which the kernel's clock ticked.
    print('count', f'{what}: longest time with interrupts off', 'insns', statistics.median(longest[1:]), sep='\t')


main(*sys.argv[1:3], int(sys.argv[3]), sys.argv[4])
