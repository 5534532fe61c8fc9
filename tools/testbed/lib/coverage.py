# SPDX-License-Identifier: GPL-2.0-only
"""Takes what no test can reach out of coverage.

coverage.py TREE LIST         checks the list
coverage.py TREE LIST IN OUT  writes gcovr's JSON without the lines that are listed; prints those that ran nevertheless

A row of the list is FILE<tab>CODE<tab>REASON. CODE is part of one line of that file, and only of one; "CODE >> CODE" is
the first line with the second behind the only one with the first. What is indented deeper behind the line
is left out with it, or the whole function, if the line begins one.
"""
import json
import os
import sys


def indent(line):
    return len(line) - len(line.lstrip('\t'))


def block(lines, first):
    """The numbers, from 1 on, of the line with index @first and of those indented deeper behind it; or of a function."""
    last = first + 1
    if indent(lines[first]) == 0:
        while not lines[last].startswith('}'):
            last += 1
        return range(first + 1, last + 2)
    while last < len(lines) and (indent(lines[last]) > indent(lines[first]) or not lines[last].strip()):
        last += 1
    return range(first + 1, last + 1)


def rows(tree, path):
    wrong = False
    with open(path, encoding='utf-8') as f:
        for number, row in enumerate(f.read().split('\n'), 1):
            if not row or row.startswith('#'):
                continue
            parts = row.split('\t')
            if len(parts) != 3 or not all(parts) or not os.path.exists(os.path.join(tree, parts[0])):
                print(f'{path}:{number}: not FILE<tab>CODE<tab>REASON', file=sys.stderr)
                wrong = True
                continue
            with open(os.path.join(tree, parts[0]), encoding='utf-8') as source:
                lines = source.read().split('\n')
            first, _, second = parts[1].partition(' >> ')
            found = [i for i, line in enumerate(lines) if first in line]
            if len(found) == 1 and second:
                found = [i for i in range(found[0] + 1, len(lines)) if second in lines[i]][:1]
            if len(found) != 1:
                print(f'{path}:{number}: {len(found)} lines of {parts[0]} have "{parts[1]}"', file=sys.stderr)
                wrong = True
                continue
            yield parts[0], parts[1], block(lines, found[0])
    if wrong:
        sys.exit(1)


def main(tree, path, before=None, after=None):
    listed = list(rows(tree, path))
    if not before:
        return
    with open(before, encoding='utf-8') as f:
        counts = json.load(f)
    files = {entry['file']: entry for entry in counts['files']}
    for name, code, numbers in listed:
        entry = files.get(name)
        if not entry:
            continue
        out = [line for line in entry['lines'] if line['line_number'] in numbers]
        if out and all(line['count'] > 0 and all(b['count'] > 0 for b in line.get('branches', ())) for line in out):
            print(f'ran: {name}: {code}')
        entry['lines'] = [line for line in entry['lines'] if line['line_number'] not in numbers]
    with open(after, 'w', encoding='utf-8') as f:
        json.dump(counts, f)


main(*sys.argv[1:])
