#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The rocket uAPI is what it was: uapi-table.py [--check|--write]

tools/testbed/data/uapi-frozen has a line for each struct, field, ioctl, enumerator and flag of
include/uapi/drm/rocket_accel.h: the sizes, offsets and values that programs were compiled with. --check says what is
different, and compiles the lines as assertions for 64-bit and 32-bit Arm. --write adds what is new, and refuses to
change or remove anything: a struct may only grow at its end.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.normpath(os.path.join(os.path.dirname(__file__), '../../..'))
HEADER = os.path.join(TOP, 'include/uapi/drm/rocket_accel.h')
TABLE = os.path.join(TOP, 'tools/testbed/data/uapi-frozen')
TARGETS = ('aarch64-linux-gnu-gcc', 'arm-linux-gnueabihf-gcc')
INCLUDES = ['-I', os.path.join(TOP, 'include/uapi'), '-I', '/usr/include/drm', '-I', '/usr/include/libdrm']
SIZE_BITS = 0x3fff0000
PROLOGUE = '#include <stddef.h>\n#include <stdio.h>\n#include <drm.h>\n#include <drm/rocket_accel.h>\n'


def without_comments(text):
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def names(text):
    """The structs with their fields, and the names of constants."""
    structs = {}
    for name, body in re.findall(r'^struct (drm_rocket_\w+) \{(.*?)^\};', text, re.M | re.S):
        structs[name] = re.findall(r'^\t__[us](?:8|16|32|64) (\w+);', body, re.M)
        if len(structs[name]) != body.count(';'):
            sys.exit(f'{HEADER}: a field of struct {name} is not understood')
    constants = re.findall(r'^#define (DRM_(?:IOCTL_)?ROCKET_\w+)', text, re.M)
    for body in re.findall(r'^enum drm_rocket_\w+ \{(.*?)^\};', text, re.M | re.S):
        constants += re.findall(r'^\t(DRM_ROCKET_\w+) =', body, re.M)
    return structs, constants


def compile_with(compiler, source, *args):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, 'uapi.c')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(PROLOGUE + source)
        built = subprocess.run([compiler, '-Wall', '-Werror', *INCLUDES, path, *args], cwd=where, text=True,
                               capture_output=True, check=False)
        if built.returncode:
            return built.stderr
        return subprocess.run(['./a.out'], cwd=where, text=True, capture_output=True,
                              check=True).stdout if not args else ''


def present():
    """The table of the header as it is."""
    with open(HEADER, encoding='utf-8') as f:
        structs, constants = names(without_comments(f.read()))
    lines = []
    for struct, fields in structs.items():
        lines.append(f'printf("struct {struct} %zu\\n", sizeof(struct {struct}));')
        for field in fields:
            lines.append(f'printf("field {struct}.{field} %zu %zu\\n", offsetof(struct {struct}, {field}), '
                         f'sizeof(((struct {struct} *)0)->{field}));')
    for name in constants:
        lines.append(f'printf("value {name} %#llx\\n", (unsigned long long){name});')
    out = compile_with('gcc', 'int main(void)\n{\n' + '\n'.join(lines) + '\nreturn 0;\n}\n')
    if 'error:' in out:
        sys.exit(out)
    return dict(line.split(' ', 2)[1:] for line in out.splitlines()), out


def frozen():
    with open(TABLE, encoding='utf-8') as f:
        lines = [line.rstrip('\n') for line in f if line.strip() and not line.startswith('#')]
    return {line.split(' ', 2)[1]: line.split(' ', 2) for line in lines}


def grown(kind, name, old, new):
    """Is it a struct of this driver's, or the number of its ioctl, which has the size in it?"""
    if kind == 'struct':
        return int(new) > int(old)
    if not name.startswith('DRM_IOCTL_'):
        return False
    old, new = int(old, 16), int(new, 16)
    return old & 0xff >= 0x60 and not (old ^ new) & ~SIZE_BITS and new & SIZE_BITS > old & SIZE_BITS


def broken(now, old):
    """What a program that was compiled before would not find any more."""
    for name, (kind, _, value) in old.items():
        if name not in now:
            yield f'{kind} {name} is gone'
        elif now[name] != value and not grown(kind, name, value, now[name]):
            yield f'{kind} {name} was {value}, and is {now[name]}'


def assertions(old):
    for name, (kind, _, value) in old.items():
        if kind == 'struct':
            yield f'_Static_assert(sizeof(struct {name}) == {value}, "{name}");'
        elif kind == 'field':
            struct, field = name.split('.')
            offset, size = value.split()
            yield (f'_Static_assert(offsetof(struct {struct}, {field}) == {offset} && '
                   f'sizeof(((struct {struct} *)0)->{field}) == {size}, "{name}");')
        else:
            yield f'_Static_assert((unsigned long long){name} == {value}ull, "{name}");'


def check():
    now, _ = present()
    old = frozen()
    wrong = list(broken(now, old))
    wrong += [f'{name} is new: uapi-table.py --write' for name in now if name not in old]
    wrong += [f'{name} has grown: uapi-table.py --write' for name, (kind, _, value) in old.items()
              if name in now and now[name] != value and grown(kind, name, value, now[name])]
    source = '\n'.join(assertions(old)) + '\n'
    if not wrong:
        wrong = [said for said in (compile_with(target, source, '-c') for target in TARGETS) if said]
    print('\n'.join(wrong) or f'{len(old)} lines hold')
    return bool(wrong)


def write():
    now, text = present()
    wrong = list(broken(now, frozen())) if os.path.exists(TABLE) else []
    if wrong:
        print('\n'.join(wrong))
        return 1
    with open(TABLE, 'w', encoding='utf-8') as f:
        f.write('# SPDX-License-Identifier: GPL-2.0-only\n'
                '# What programs were compiled with. uapi-table.py --write adds lines; none is changed by hand.\n' + text)
    return 0


if __name__ == '__main__':
    if sys.argv[1:] not in (['--check'], ['--write']):
        sys.exit(__doc__)
    sys.exit(check() if sys.argv[1] == '--check' else write())
