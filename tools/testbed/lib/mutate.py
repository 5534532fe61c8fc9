# SPDX-License-Identifier: GPL-2.0-only
"""Lists the changes that bin/mutate can make to the driver, in an order that the seed chooses, and makes one.

mutate.py list TREE COVERAGE SEED    a line for each: FILE LINE KIND BOOT...
mutate.py apply TREE FILE LINE KIND  changes the file, prints the lines before and after

Only lines that tests run are changed. COVERAGE has BOOT.json, as gcovr writes it, for each boot; the boots of a line are
those that run it, the ones with the fewest lines in all first, which are the quickest.
"""
import glob
import json
import os
import random
import re
import sys

CALL = re.compile(r'^\t+(?!return\b|goto\b|if\b|for\b|while\b|switch\b|else\b|case\b|guard\b|scoped_guard\b)'
                  r'[a-z_][\w>.\-]*\(.*\);$')
ASSIGN = re.compile(r'^\t+[a-z_][\w>.\-\[\]]*(\+\+|--| [-+|&^]?= .*);$')
IF = re.compile(r'^(\t+(?:} else )?if \()(.*)(\)(?: \{)?)$')
LEAVES = re.compile(r'^\t+(return\b.*|goto \w+|continue|break);$')
COMPARE = re.compile(r' (<=|>=|<|>|==|!=) ')
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
# What only checks the driver itself or tells somebody something: no test needs to notice its absence.
NO_EFFECT = re.compile(r'\b(lockdep_assert|might_sleep|trace_|drm_dbg|dev_dbg|dev_warn|dev_info|dev_err|drm_err|'
                       r'static_assert|cond_resched|cpu_relax|mutex_init|WARN)')


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == '(') - (c == ')')
        if depth < 0:
            return False
    return depth == 0


def simple(line):
    return bool(CALL.match(line) or ASSIGN.match(line)) and not NO_EFFECT.search(line)


def indent(line):
    return len(line) - len(line.lstrip('\t'))


def kinds(lines, i):
    """The kinds of change that line @i, counted from 0, allows."""
    line, after = lines[i], lines[i + 1] if i + 1 < len(lines) else ''
    before = lines[i - 1] if i else ''
    found = []
    m = IF.match(line)
    if m and balanced(m[2]) and not NO_EFFECT.search(line):
        found.append('negate')
        if not m[3].endswith('{') and LEAVES.match(after):
            found.append('drop')
    code = line.split('/*')[0]
    if '"' not in code and code.startswith('\t') and not NO_EFFECT.search(code):
        found += [f'bound{n}' for n in range(len(COMPARE.findall(code)))]
    if CALL.match(line) and not NO_EFFECT.search(line):
        found.append('skip')
    alone = not re.search(r'(\)|else|do)$', before.rstrip())
    # Two assignments could mostly stand the other way round.
    if (simple(line) and simple(after) and indent(line) == indent(after) and line != after and alone and
            (CALL.match(line) or CALL.match(after))):
        found.append('swap')
    return found


def change(lines, i, kind):
    line = lines[i]
    if kind == 'swap':
        lines[i], lines[i + 1] = lines[i + 1], lines[i]
    elif kind == 'skip':
        lines[i] = line[:indent(line)] + 'if (0) ' + line.lstrip('\t')
    elif kind.startswith('bound'):
        m = list(COMPARE.finditer(line))[int(kind[5:])]
        lines[i] = line[:m.start(1)] + OTHER[m[1]] + line[m.end(1):]
    else:
        m = IF.match(line)
        lines[i] = m[1] + ('!(' if kind == 'negate' else '0 && (') + m[2] + ')' + m[3]


def read(tree, name):
    with open(os.path.join(tree, name), encoding='utf-8') as f:
        return f.read().split('\n')


def boots_by_line(coverage):
    by_line, size = {}, {}
    for path in glob.glob(os.path.join(coverage, '*.json')):
        boot = os.path.basename(path)[:-5]
        if boot == 'all':
            continue
        with open(path, encoding='utf-8') as f:
            files = json.load(f)['files']
        size[boot] = 0
        for entry in files:
            for line in entry['lines']:
                if line['count'] > 0:
                    size[boot] += 1
                    by_line.setdefault((entry['file'], line['line_number']), []).append(boot)
    for boots in by_line.values():
        boots[:] = sorted(set(boots), key=lambda b: (size[b], b))
    return by_line


def list_changes(tree, coverage, seed):
    by_line = boots_by_line(coverage)
    changes = []
    for name in sorted({name for name, _ in by_line}):
        if not name.endswith('.c') or '/compat/' in name or not os.path.exists(os.path.join(tree, name)):
            continue
        lines = read(tree, name)
        for (file, number), boots in sorted(by_line.items()):
            if file == name and number <= len(lines):
                changes += [(name, number, kind, boots) for kind in kinds(lines, number - 1)]
    random.Random(seed).shuffle(changes)
    for name, number, kind, boots in changes:
        print(name, number, kind, *boots)


def apply_change(tree, name, number, kind):
    lines = read(tree, name)
    last = number + (kind == 'swap')
    old = lines[number - 1:last]
    change(lines, number - 1, kind)
    with open(os.path.join(tree, name), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines))
    print(' '.join(s.strip() for s in old), '->', ' '.join(s.strip() for s in lines[number - 1:last]))


if sys.argv[1] == 'list':
    list_changes(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    apply_change(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
