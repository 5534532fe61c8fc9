# SPDX-License-Identifier: GPL-2.0-only
"""Lists the changes that bin/mutate can make to the driver, in an order that the seed chooses, and makes one.

mutate.py list TREE COVERAGE SEED SOURCES RESULTS  a line for each that RESULTS does not have of these sources:
                                                   FILE LINE KIND BOOT:PROGRAM,PROGRAM... ...
                                                   with the SEED "again" those that survived
mutate.py apply TREE FILE LINE KIND                changes the file, prints the lines before and after
mutate.py sum RESULTS SOURCES                      prints the survivors and how many were noticed

Only lines that tests run are changed. COVERAGE has BOOT.PROGRAM.json, as gcovr writes it, and seconds.tsv.
"""
import glob
import hashlib
import json
import os
import re
import sys

# What it takes to start one, and the name that guest-tests has for that.
GUEST_SECONDS = 8
LOAD = 'npu'
CALL = re.compile(r'^\t+(?!return\b|goto\b|if\b|for\b|while\b|switch\b|else\b|case\b|guard\b|scoped_guard\b)'
                  r'[a-z_][\w>.\-]*\(.*\);$')
ASSIGN = re.compile(r'^\t+[a-z_][\w>.\-\[\]]*(\+\+|--| [-+|&^]?= .*);$')
IF = re.compile(r'^(\t+(?:} else )?if \()(.*)(\)(?: \{)?)$')
LEAVES = re.compile(r'^\t+(return\b.*|goto \w+|continue|break);$')
COMPARE = re.compile(r' (<=|>=|<|>|==|!=) ')
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
# What only checks the driver itself, tells somebody something, or orders memory accesses, which QEMU does not reorder: no
# test can notice its absence.
NO_EFFECT = re.compile(r'\b(lockdep_assert|might_sleep|trace_|drm_dbg|dev_dbg|dev_warn|dev_info|dev_err|drm_err|'
                       r'static_assert|cond_resched|cpu_relax|preempt_(dis|en)able|smp_\w*mb\w*|mutex_init|WARN)')


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
        operators = COMPARE.findall(code)
        # Where this is all of the condition, it is the same as "negate".
        alone = m and len(operators) == 1 and operators[0] in ('==', '!=') and not re.search(r'&&|\|\|', code)
        found += [f'bound{n}' for n in range(len(operators)) if not alone]
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


class Coverage:
    """Which programs run a line, in which boots, and how long they take."""

    def __init__(self, tree, folder):
        self.tree = tree
        self.by_line = {}
        self.seconds = {}
        self.sources = {}
        with open(os.path.join(folder, 'seconds.tsv'), encoding='utf-8') as f:
            for row in f:
                boot, program, seconds = row.split('\t')
                self.seconds[boot, program] = float(seconds)
        for path in sorted(glob.glob(os.path.join(folder, '*.*.json'))):
            boot, program = os.path.basename(path)[:-len('.json')].split('.', 1)
            # A kernel with detectors takes too long for this.
            if not boot.startswith('debug-'):
                self.add(path, boot, program)

        # What ran when the module was loaded concerns every program of the boot.
        for where in self.by_line.values():
            for boot, program in [w for w in where if w[1] == LOAD]:
                where.discard((boot, program))
                where.update(w for w in self.seconds if w[0] == boot and w[1] != LOAD)

    def lines(self, name):
        if name not in self.sources:
            self.sources[name] = read(self.tree, name) if os.path.exists(os.path.join(self.tree, name)) else []
        return self.sources[name]

    def add(self, path, boot, program):
        with open(path, encoding='utf-8') as f:
            files = json.load(f)['files']
        for entry in files:
            name = entry['file']
            if not name.endswith('.c') or '/compat/' in name:
                continue
            lines = self.lines(name)
            for line in entry['lines']:
                number = line['line_number']
                # Where the sources have changed since, only what is still at its place counts.
                if line['count'] > 0 and number <= len(lines) and line['gcovr/md5'] == md5(lines[number - 1]):
                    self.by_line.setdefault((name, number), set()).add((boot, program))

    def cost(self, boot, programs):
        return GUEST_SECONDS + sum(self.seconds.get((boot, p), 30) for p in programs)

    def special(self, name, number):
        """Where the line close by runs that the fewest programs run: they are about what the line decides."""
        near = [self.by_line.get((name, n), ()) for n in range(number - 1, number + 4)]
        found = {p for _, p in min((w for w in near if w), key=len)}
        return {w for w in self.by_line[name, number] if w[1] in found}

    def steps(self, name, number):
        """BOOT:PROGRAM,PROGRAM... in an order: every program once, then all again where else they run the line."""
        where, special = self.by_line[name, number], self.special(name, number)
        few = sorted(special, key=lambda w: (self.cost(w[0], [w[1]]), w))[:3]
        first, rest = {}, {}
        by_program = {}
        for boot, program in where:
            by_program.setdefault(program, []).append(boot)
        for program, boots in by_program.items():
            # In a guest that starts for others anyway, if it is not too slow.
            boots.sort(key=lambda b: (self.cost(b, [program]) - 2 * sum(b in o for o in by_program.values()), b))
            first.setdefault(boots[0], []).append(program)
            for boot in boots[1:]:
                rest.setdefault(boot, []).append(program)
        found = [f'{boot}:{program}' for boot, program in few]
        for group in first, rest:
            for boot, programs in sorted(group.items(), key=lambda g: (self.cost(*g), g[0])):
                programs.sort(key=lambda p: (self.seconds.get((boot, p), 30), p))
                found.append(f'{boot}:{",".join(programs)}')
        return found


def md5(line):
    return hashlib.md5(line.encode('utf-8')).hexdigest()


def known(results, sources):
    """The last result of each change."""
    found = {}
    with open(results, encoding='utf-8') as f:
        for row in f.read().split('\n')[1:]:
            parts = row.split('\t')
            if len(parts) == 6 and parts[0] == sources:
                found[parts[1], int(parts[2]), parts[3]] = parts[4], parts[5]
    return found


def list_changes(tree, folder, seed, sources, results):
    coverage = Coverage(tree, folder)
    done = known(results, sources)
    changes = []
    for name, number in sorted(coverage.by_line):
        lines = coverage.lines(name)
        for kind in kinds(lines, number - 1):
            was = done.get((name, number, kind))
            if was is None if seed != 'again' else was and was[0].startswith('SURVIVED'):
                # The order of the others stays when there are more lines.
                key = hashlib.sha256(f'{seed} {name} {lines[number - 1]} {number} {kind}'.encode()).hexdigest()
                changes.append((key, name, number, kind))
    for _, name, number, kind in sorted(changes):
        print(name, number, kind, ' '.join(coverage.steps(name, number)), sep='\t')


def print_sum(results, sources):
    done = known(results, sources)
    counted = {c: r for c, r in done.items() if r[0] not in ('does not build', 'same code')}
    survivors = {c: r for c, r in counted.items() if r[0].startswith('SURVIVED')}
    if survivors:
        print('nobody noticed:')
    for (name, number, kind), (result, text) in sorted(survivors.items()):
        print(f'  {name}:{number}: {kind}: {text} ({result})')
    print(f'{len(counted) - len(survivors)} of {len(counted)} changes noticed')


def apply_change(tree, name, number, kind):
    lines = read(tree, name)
    last = number + (kind == 'swap')
    old = lines[number - 1:last]
    change(lines, number - 1, kind)
    with open(os.path.join(tree, name), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines))
    print(' '.join(s.strip() for s in old), '->', ' '.join(s.strip() for s in lines[number - 1:last]))


{'list': list_changes, 'sum': print_sum,
 'apply': lambda tree, name, number, kind: apply_change(tree, name, int(number), kind)}[sys.argv[1]](*sys.argv[2:])
