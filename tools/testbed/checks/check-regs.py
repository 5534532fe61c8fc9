#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The table of registers is sound, agrees with Linux, and is used: check-regs.py ROCKET_HEADER TABLE INCLUDER...

TABLE is a file of include/npu/: names and offsets are there once, fields do not overlap. So it is in the tables of other
chips beside it, which use its blocks. ROCKET_HEADER is mainline's drivers/accel/rocket/rocket_registers.h; registers and
fields are the same but for DIFFERENT. No INCLUDER, a folder of C, writes the offset of a register as a number; folders
named tests may, to find mistakes in the table.
"""
import glob
import os
import re
import subprocess
import sys

# What differs from ROCKET_HEADER on purpose: a register, or a register and its bits, with the reason.
DIFFERENT = {
    'PC.REGISTER_AMOUNTS 17:16': 'programs for several cores have it; reserved in the TRM',
    'PC.TASK_CON 14:14': 'both drivers write it; reserved in the TRM',
    'PC.TASK_STATUS 11:0': 'a count, by the TRM',
    'PC.TASK_STATUS 15:12': 'a state, as boards show',
    'PC.TASK_STATUS 27:0': 'two fields',
    'CNA.S_POINTER 29:28': 'both drivers write the core here; reserved in the TRM',
    'CORE.S_POINTER 29:28': 'both drivers write the core here; reserved in the TRM',
    'CORE.UNKNOWN_3030': 'Rockchip\'s programs write it; not in the TRM',
    'DPU.UNKNOWN_40C4': 'Rockchip\'s programs write it; not in the TRM',
    'RDMA.BRDMA_CFG 0:0': 'measured; reserved in the TRM',
    'PPU.OPERATION_MODE_CFG 3:3': 'a sibling has it; reserved in the TRM',
    'PPU.DST_BASE_ADDR 31:0': 'as the other addresses, whose low bits the TRM does not reserve',
    'PPU.DST_BASE_ADDR 31:4': 'as the other addresses, whose low bits the TRM does not reserve',
}
# Arbiters, which neither drivers nor programs touch.
LEFT_OUT = ('DDMA_', 'SDMA_')
# Its registers' names say more than ours.
SUFFIXES = ('', '_ADDR', '_VALUE', '_CFG')
# A field of one of these names is what its register is named for.
PLAIN = {'VALUE', 'OPERAND', 'IOVA', 'BYTES', 'COUNT'}
ROWS = {'SIZE': 2, 'TARGET': 2, 'BLOCK': 3, 'UNIT': 2, 'CODE': 3, 'REG': 3, 'RESET': 3, 'FIELD': 6}
KINDS = {'U', 'S', 'M1', 'A16', 'ADDR'}
PAGE = 0x1000

bad = []


def number(text):
    return sum(int(n, 0) for n in re.findall(r'\b0x[0-9a-fA-F]+|\b\d+', text))


def read_table(path):
    """Rows by kind, as the preprocessor finds them."""
    define = ''.join(f'#define NPU_{row}(...) @{row} __VA_ARGS__ @\n' for row in ROWS)
    text = subprocess.run(['cc', '-E', '-P', '-x', 'c', '-'], input=f'{define}#include "{os.path.abspath(path)}"\n',
                          stdout=subprocess.PIPE, check=True, encoding='utf-8').stdout
    table = {row: [] for row in ROWS}
    for row, args in re.findall(r'@(\w+) ([^@]*) @', text):
        args = [arg.strip() for arg in args.split(',')]
        if len(args) != ROWS[row]:
            bad.append(f'{path}: NPU_{row}({", ".join(args)}) has {len(args)} arguments')
        else:
            table[row].append(args)
    rest = re.sub(r'@(\w+) ([^@]*) @', '', text).strip()
    if rest:
        bad.append(f'{path}: is no row: {rest[:60]}')
    return table


def once(path, what, names):
    for name in sorted({name for name in names if names.count(name) > 1}):
        bad.append(f'{path}: {what} {name} is there twice')


def read_regs(path, table):
    """Registers by offset, and their fields by (lowest bit, width)."""
    base = {block: number(at) for block, at, _ in table['BLOCK']}
    offset = {f'{block}.{reg}': number(at) for block, reg, at in table['REG']}
    once(path, 'the block', list(base))
    once(path, 'the register', [f'{block}.{reg}' for block, reg, _ in table['REG']])
    once(path, 'the offset', [f'{number(at):#06x}' for _, _, at in table['REG']])
    once(path, 'the size', [name for name, _ in table['SIZE']])
    once(path, 'the target', [f'{number(value):#06x}' for _, value in table['TARGET']] +
         [f'{number(value):#06x}' for _, _, value in table['BLOCK'] if number(value)])
    once(path, 'the code', [f'{kind} {value}' for kind, _, value in table['CODE']])
    once(path, 'the bit of a unit', [bit for _, bit in table['UNIT']])
    at = -1
    for block, reg, value in table['REG']:
        if block not in base or number(value) & -PAGE != base[block]:
            bad.append(f'{path}: {block}.{reg} is not in its block')
        if number(value) < at:
            bad.append(f'{path}: {block}.{reg} is not in the order of offsets')
        at = number(value)
    for block, reg, _ in table['RESET']:
        if f'{block}.{reg}' not in offset:
            bad.append(f'{path}: NPU_RESET() of {block}.{reg}, which is no register')
    fields = {value: {} for value in offset.values()}
    used = {value: 0 for value in offset.values()}
    once(path, 'the field', [f'{block}.{reg} {field}' for block, reg, field, *_ in table['FIELD']])
    for block, reg, field, lsb, width, kind in table['FIELD']:
        name, lsb, width = f'{block}.{reg}', number(lsb), number(width)
        mask = ((1 << width) - 1) << lsb
        if name not in offset:
            bad.append(f'{path}: {name} {field}: there is no such register')
        elif kind not in KINDS or not mask or mask >> 32:
            bad.append(f'{path}: {name} {field}: {lsb}, {width}, {kind}')
        elif used[offset[name]] & mask:
            bad.append(f'{path}: {name} {field} overlaps another field')
        else:
            used[offset[name]] |= mask
            fields[offset[name]][lsb, width] = field
    return {value: name for name, value in offset.items()}, fields


def check_beside(path, blocks):
    """The tables of other chips; a block that TABLE lacks is where its first register is."""
    others = [other for other in sorted(glob.glob(f'{os.path.dirname(path)}/rk*_regs.h')) if not os.path.samefile(other, path)]
    for other in others:
        table = read_table(other)
        own = {}
        for block, _, at in table['REG']:
            own.setdefault(block, [block, f'{number(at) & -PAGE:#x}', '0'])
        table['BLOCK'] = [*blocks, *(row for name, row in own.items() if name not in [block[0] for block in blocks])]
        read_regs(other, table)
    return len(others)


def read_rocket(path):
    """The same of mainline's header, with its own names."""
    with open(path, encoding='utf-8') as f:
        defines = re.findall(r'^#define (\w+?)\s+(0x[0-9a-f]+)$', f.read(), re.M)
    offset = {name[4:]: int(value, 16) for name, value in defines if name.startswith('REG_')}
    fields = {value: {} for value in offset.values()}
    by_length = sorted(offset, key=len, reverse=True)
    for name, value in defines:
        field = name.removesuffix('__MASK')
        reg = next((reg for reg in by_length if field.startswith(reg + '_')), None)
        if name.startswith(('REG_', '__')) or not reg or field.startswith(reg + '_RESERVED_'):
            continue
        mask = int(value, 16)
        lsb = (mask & -mask).bit_length() - 1
        fields[offset[reg]][lsb, mask.bit_count()] = field[len(reg) + 1:]
    return {value: name for name, value in offset.items() if not name.startswith(LEFT_OUT)}, fields


def same_field(ours, theirs):
    """Each word of ours is one of theirs."""
    words = {word.rstrip('0123') or word for word in theirs.split('_')} | set(theirs.split('_'))
    return ours in PLAIN or set(ours.split('_')) <= words


def compare(path, ours, theirs):
    """All but what DIFFERENT has, of which each is used."""
    different = set()
    (our_reg, our_field), (their_reg, their_field) = ours, theirs

    def differ(where, text):
        different.add(where)
        if where not in DIFFERENT:
            bad.append(f'{path}: {where}: {text} (if on purpose, give the reason in DIFFERENT)')

    for at in sorted(set(our_reg) | set(their_reg)):
        if at not in our_reg:
            differ(f'{at:#06x}', f'Linux has a register {their_reg[at]}')
            continue
        name = our_reg[at]
        if at not in their_reg:
            differ(name, 'Linux does not have it')
            continue
        linux = re.sub(r'^DPU_RDMA_RDMA_', 'RDMA_', re.sub(r'^PPU_RDMA_RDMA_', 'PPU_RDMA_', their_reg[at]))
        if linux not in [name.replace('.', '_') + suffix for suffix in SUFFIXES]:
            differ(name, f'Linux calls {at:#06x} {linux}')
        for lsb, width in sorted(set(our_field[at]) | set(their_field[at])):
            where = f'{name} {lsb + width - 1}:{lsb}'
            mine, linux = our_field[at].get((lsb, width)), their_field[at].get((lsb, width))
            if width == 32 and not (mine and our_field[at].keys() != their_field[at].keys()):
                continue
            if not mine or not linux:
                differ(where, f'Linux has {linux or "no such field"}, the table {mine or "none"}')
            elif not same_field(mine, linux):
                differ(where, f'Linux calls it {linux}, the table {mine}')
    for where in sorted(set(DIFFERENT) - different):
        bad.append(f'{path}: {where} does not differ from Linux: take it out of DIFFERENT')


def find_numbers(folder, regs):
    """Offsets of registers in code. Those of the PC are too small to be told from other numbers, but by a name."""
    files = 0
    names = '|'.join(sorted((name.replace('.', '_') for name in regs.values()), key=len, reverse=True))
    define = re.compile(rf'#\s*define\s+\w*?({names})\s+\(?0x[0-9a-f]+', re.I)
    for at, folders, found in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != 'tests')
        for name in sorted(found):
            if not name.endswith(('.c', '.h')):
                continue
            files += 1
            path = os.path.join(at, name)
            with open(path, encoding='utf-8') as f:
                text = f.read()
            blank = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
            text = blank.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), text)
            for number_, line in enumerate(text.splitlines(), 1):
                offsets = [int(n, 16) for n in re.findall(r'\b0x([0-9a-f]{4})u?\b', line, re.I)]
                offsets = [n for n in offsets if n in regs and n > PAGE and n % PAGE]
                if offsets or define.search(line):
                    which = ', '.join(regs[n] for n in offsets) or define.search(line)[1]
                    bad.append(f'{path}:{number_}: {which} as a number: {line.strip()}')
    return files


def main(rocket, path, folders):
    table = read_table(path)
    ours = read_regs(path, table)
    compare(path, ours, read_rocket(rocket))
    others = check_beside(path, table['BLOCK'])
    files = sum(find_numbers(folder, ours[0]) for folder in folders)
    fields = sum(map(len, ours[1].values()))
    print('\n'.join(bad + [f'{path}: {len(ours[0])} registers, {fields} fields, {len(DIFFERENT)} differences; '
                           f'{others} other tables; {files} files']))
    return 1 if bad or not files else 0


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit('usage: check-regs.py "$(tools/testbed/bin/linux-source)/drivers/accel/rocket/rocket_registers.h" '
                 'include/npu/rk3588_regs.h INCLUDER...')
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
