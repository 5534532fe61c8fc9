# SPDX-License-Identifier: GPL-2.0-only
"""Puts all changes that bin/mutate tries into the driver at once, each behind a number, and chooses among them.

mutate.py guard TREE LIST                      changes TREE's driver; a line of LIST for each: NUMBER FILE LINE KIND TEXT
mutate.py choose LIST REACHED N SEED SECONDS SOURCES RESULTS
                                               N that RESULTS does not have of these sources and some program reaches,
                                               with the SEED "again" those that survived. For each boot, BOOT NUMBER
                                               PROGRAMS PROGRAM:LIMIT...: of all PROGRAMS that run into it those
                                               that take SECONDS together, special and quick ones first; "!" behind
                                               a number that also runs while the module is loaded
mutate.py sum LIST RESULTS SOURCES             prints the survivors and how many were noticed

REACHED has a line for each program: BOOT PROGRAM SECONDS NUMBER,NUMBER...; the program "load" is the module's start.
"""
import hashlib
import os
import re
import sys

# What stands before a statement, and not in the middle of one.
BEGINS = re.compile(r'([;{})]|\*/|\b(else|do)|^\w+:|\bcase .*:|\bdefault:|^)$')
CALL = re.compile(r'^\t+(?!return\b|goto\b|if\b|for\b|while\b|switch\b|else\b|case\b|guard\b|scoped_guard\b|do\b)'
                  r'[a-z_][\w>.\-]*\(.*\);$')
ASSIGN = re.compile(r'^\t+[a-z_][\w>.\-\[\]]*(\+\+|--| [-+|&^]?= .*);$')
IF = re.compile(r'^(\t+(?:} else )?if \()(.*)(\)(?: \{)?)$')
VALUE = re.compile(r'^(\t+(?:return|[a-z_][\w>.\-\[\]]* [-+|&]?=) )(.*)(;)$')
LEAVES = re.compile(r'^\t+(return\b.*|goto \w+|continue|break);$')
COMPARE = re.compile(r' (<=|>=|<|>|==|!=) ')
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
# What only checks the driver itself, tells somebody something, or orders memory accesses, which QEMU does not reorder: no
# test can notice its absence.
NO_EFFECT = re.compile(r'\b(lockdep_assert|might_sleep|trace_|drm_dbg|dev_dbg|dev_warn|dev_info|dev_err|drm_err|'
                       r'static_assert|cond_resched|cpu_relax|preempt_(dis|en)able|smp_\w*mb\w*|mutex_init|WARN)')
DRIVER = 'drivers/accel/rknpu'
HEADER = '''#ifndef RKNPU_MUTANT_H
#define RKNPU_MUTANT_H
#include <linux/compiler.h>
#include <linux/types.h>
extern unsigned int rknpu_mutant;
extern u8 rknpu_reached[];
static __always_inline bool rknpu_mut(unsigned int n)
{
	if (!READ_ONCE(rknpu_reached[n]))
		WRITE_ONCE(rknpu_reached[n], 1);
	return READ_ONCE(rknpu_mutant) == n;
}
#endif
'''
# A read empties it, as a parameter shows no more than a page.
FOOTER = '''
unsigned int rknpu_mutant;
module_param(rknpu_mutant, uint, 0644);
u8 rknpu_reached[%u];
static int rknpu_reached_get(char *buf, const struct kernel_param *kp)
{
	int n = 0;
	unsigned int i;

	for (i = 0; i < sizeof(rknpu_reached) && n < 3900; i++) {
		if (rknpu_reached[i])
			n += scnprintf(buf + n, 4000 - n, "%%u,", i);
		rknpu_reached[i] = 0;
	}
	return n + scnprintf(buf + n, 4096 - n, i < sizeof(rknpu_reached) ? "more\\n" : "\\n");
}
static const struct kernel_param_ops rknpu_reached_ops = { .get = rknpu_reached_get };
module_param_cb(rknpu_reached, &rknpu_reached_ops, NULL, 0444);
'''


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == '(') - (c == ')')
        if depth < 0:
            return False
    return depth == 0


def plain(line):
    return not re.search(r'"|/\*', line) and not NO_EFFECT.search(line)


def simple(line):
    return bool(CALL.match(line) or ASSIGN.match(line)) and balanced(line) and plain(line)


def indent(line):
    return len(line) - len(line.lstrip('\t'))


class Guard:
    """Numbers changes, and writes them beside what they change."""

    def __init__(self):
        self.rows = []

    def number(self, name, line, kind, old, new):
        # 0 is none of them.
        self.rows.append((len(self.rows) + 1, name, line, kind, f'{" ".join(old.split())} -> {" ".join(new.split())}'))
        return f'rknpu_mut({len(self.rows)})'

    def condition(self, name, i, lines, m):
        """Another reading of what @m has between its first and last group, as an expression."""
        head, text, tail = m.groups()
        where = name, i + 1
        result = f'({text})'
        operators = list(COMPARE.finditer(text))
        is_if = bool(IF.match(lines[i]))
        alone = is_if and len(operators) == 1 and operators[0][1] in ('==', '!=') and not re.search(r'&&|\|\|', text)
        for n, o in enumerate(operators):
            if not alone:
                other = text[:o.start(1)] + OTHER[o[1]] + text[o.end(1):]
                result = f'({self.number(*where, f"bound{n}", text, other)} ? ({other}) : {result})'
        if is_if:
            # Not to bool: what is not a pointer or an integer is none that C can compare with.
            if not tail.endswith('{') and i + 1 < len(lines) and LEAVES.match(lines[i + 1]):
                result = f'(!{self.number(*where, "drop", text, "0")} && {result})'
            result = f'({self.number(*where, "negate", text, f"!({text})")} ? !({text}) : !!{result})'
        return head + result + tail if result != f'({text})' else lines[i]

    def statement(self, name, i, line):
        if CALL.match(line) and balanced(line):
            tabs = '\t' * indent(line)
            return f'{tabs}{{ if (!{self.number(name, i + 1, "skip", line, "")}) {line.strip()} }}'
        return line

    def file(self, name, lines):
        out, i, in_code = [], 0, False
        while i < len(lines):
            line = lines[i]
            after = lines[i + 1] if i + 1 < len(lines) else ''
            before = lines[i - 1] if i else ''
            in_code = (in_code or line == '{') and line != '}'
            if not in_code or not BEGINS.search(before.strip()) or not plain(line):
                out.append(line)
                i += 1
                continue
            m = IF.match(line) or VALUE.match(line)
            # Two assignments could mostly stand the other way round.
            if (not re.search(r'(\)|else|do)$', before) and simple(line) and simple(after) and line != after and
                    indent(line) == indent(after) and (CALL.match(line) or CALL.match(after))):
                swap = self.number(name, i + 1, 'swap', line + ' ' + after, after + ' ' + line)
                tabs = '\t' * indent(line)
                out.append(f'{tabs}if ({swap}) {{ {after.strip()} {line.strip()} }} else {{')
                out += [self.statement(name, i, line), self.statement(name, i + 1, after), tabs + '}']
                i += 2
                continue
            if m and balanced(m[2]):
                out.append(self.condition(name, i, lines, m))
            else:
                out.append(self.statement(name, i, line))
            i += 1
        return out


def guard(tree, listing):
    g = Guard()
    for folder, _, files in sorted(os.walk(os.path.join(tree, DRIVER))):
        for file in sorted(files):
            path = os.path.join(folder, file)
            name = os.path.relpath(path, tree)
            if not file.endswith('.c') or '/compat/' in name:
                continue
            with open(path, encoding='utf-8') as f:
                lines = f.read().split('\n')
            lines = g.file(name, lines)
            with open(path, 'w', encoding='utf-8') as f:
                f.write(f'#include "{os.path.relpath(os.path.join(tree, DRIVER, "mutant.h"), folder)}"\n' + '\n'.join(lines))
    with open(os.path.join(tree, DRIVER, 'mutant.h'), 'w', encoding='utf-8') as f:
        f.write(HEADER)
    with open(os.path.join(tree, DRIVER, 'rknpu_drv.c'), 'a', encoding='utf-8') as f:
        f.write(FOOTER % (len(g.rows) + 1))
    with open(listing, 'w', encoding='utf-8') as f:
        for row in g.rows:
            print(*row, sep='\t', file=f)


def read_list(path):
    with open(path, encoding='utf-8') as f:
        rows = [row.split('\t') for row in f.read().split('\n') if row]
    return {int(r[0]): (r[1], int(r[2]), r[3], r[4]) for r in rows}


def known(results, sources):
    """The last result of each change."""
    found = {}
    with open(results, encoding='utf-8') as f:
        for row in f.read().split('\n')[1:]:
            parts = row.split('\t')
            if len(parts) == 6 and parts[0] == sources:
                found[parts[1], int(parts[2]), parts[3]] = parts[4], parts[5]
    return found


def choose(listing, reached, count, seed, seconds, sources, results):
    changes, done = read_list(listing), known(results, sources)
    where, loads, boots = {}, set(), []
    with open(reached, encoding='utf-8') as f:
        for row in f:
            boot, program, took, numbers = row.rstrip('\n').split('\t')
            numbers = [int(n) for n in numbers.split(',') if n]
            if boot not in boots:
                boots.append(boot)
            if program == 'load':
                loads.update(numbers)
                continue
            for n in numbers:
                # Who runs into little else is about this.
                where.setdefault(n, []).append((float(took) * len(numbers), boot, program, float(took)))
    # What only runs while the module is loaded concerns whoever is quick.
    quick = sorted({w for v in where.values() for w in v}, key=lambda w: w[3])[:3]
    keys = []
    for n in set(where) | loads:
        name, line, kind, text = changes[n]
        was = done.get((name, line, kind))
        if was is None if seed != 'again' else was and was[0].startswith('SURVIVED'):
            keys.append((hashlib.sha256(f'{seed} {name} {text} {line} {kind}'.encode()).hexdigest(), n))
    for _, n in sorted(keys)[:int(count)]:
        steps, spent = {}, 0
        for _, boot, program, took in sorted(where.get(n, quick)):
            if not steps or spent + took <= float(seconds):
                steps.setdefault(boot, []).append(f'{program}:{int(10 + 5 * took)}')
                spent += took
        for boot in boots:
            if boot in steps:
                print(boot, f'{n}{"!" if n in loads else ""}', len(where.get(n, quick)), *steps[boot])


def print_sum(listing, results, sources):
    changes = {r[:3] for r in read_list(listing).values()}
    counted = {c: r for c, r in known(results, sources).items() if c in changes}
    survivors = {c: r for c, r in counted.items() if r[0].startswith('SURVIVED')}
    if survivors:
        print('nobody noticed:')
    for (name, number, kind), (result, text) in sorted(survivors.items()):
        print(f'  {name}:{number}: {kind}: {text} ({result})')
    print(f'{len(counted) - len(survivors)} of {len(counted)} changes noticed')


{'guard': guard, 'choose': choose, 'sum': print_sum}[sys.argv[1]](*sys.argv[2:])
