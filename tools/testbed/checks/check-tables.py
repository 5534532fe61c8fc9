# SPDX-License-Identifier: GPL-2.0-only
"""Every row of a table of behaviours names tests that exist: check-tables.py PAGE.rst SELFTESTS-DIRECTORY

A table counts if its last column is headed "Test". Its cells hold names of cases, separated by commas, of the programs
that the text before last named by '"Test" names cases of ``selftests/NAME.c``', with ', ``NAME.c``' or 'and ``NAME.c``' for others;
or, in parentheses, of another one.
"""
import os
import re
import sys

PROGRAM = re.compile(r'"Test" names cases of ``selftests/([a-z0-9_]+\.c)``((?:(?:,| and) ``[a-z0-9_]+\.c``)*)')
ITEM = re.compile(r'([a-z0-9_]+)(?: \(``([a-z0-9_]+\.c)``\))?')


def rows(lines):
    """The cells of each row of a list-table, whose directive has just been read."""
    table = []
    for line in lines:
        if line.startswith('   * - '):
            table.append([line[7:]])
        elif line.startswith('     - '):
            table[-1].append(line[7:])
        elif line.startswith('       ') and table:
            table[-1][-1] += ' ' + line.strip()
        elif line and not line.startswith('   '):
            break
    return table


def cases(path):
    with open(path, encoding='utf-8') as f:
        return set(re.findall(r'^RK_TEST(?:_F)?(?:_TIMEOUT)?\((?:[a-z0-9_]+, )?([a-z0-9_]+)', f.read(), re.M))


def main(page, selftests):
    with open(page, encoding='utf-8') as f:
        text = f.read().split('\n')
    known = {}
    programs = ()
    count = bad = 0
    for i, line in enumerate(text):
        # The sentence may be broken anywhere.
        found = PROGRAM.findall(' '.join(text[max(0, i - 2):i + 1]))
        programs = [found[-1][0], *re.findall(r'[a-z0-9_]+\.c', found[-1][1])] if found else programs
        if not line.startswith('.. list-table::'):
            continue
        table = rows(text[i + 1:])
        if table[0][-1] != 'Test':
            continue
        for row in table[1:]:
            items = [ITEM.fullmatch(item.strip()) for item in row[-1].split(',')]
            if len(row) != len(table[0]) or None in items:
                print(f'{page}: {row[0]}: "{row[-1]}" is no list of tests')
                bad += 1
                continue
            for item in items:
                sources = [item[2]] if item[2] else programs
                for source in sources:
                    if source not in known:
                        known[source] = cases(os.path.join(selftests, source))
                if not any(item[1] in known[source] for source in sources):
                    print(f'{page}: {row[0]}: {" and ".join(sources)}: no case {item[1]}')
                    bad += 1
                count += 1
    print(f'{count} names of tests')
    return 1 if bad or not count else 0


sys.exit(main(*sys.argv[1:]))
