#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Lays this project's kernel part out as a kernel tree has it: series.py TOP LINUX HAVE UNIFDEF AUTHOR OUT

TOP is this project, LINUX the tree, HAVE the header in which compat/conftest.sh wrote what that tree offers. OUT gets
the files that are new in the tree and those of the tree that change, and in OUT/.groups a line for each patch, with the
paths that belong to it; OUT/.message.N is what that patch says.

What the probes found is resolved: branches for other kernels go, and where nothing but names is left of compat/, the
names are replaced by what they stand for and compat/ goes as well.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

top, linux, have, unifdef, author, out = sys.argv[1:]
top, linux, out = pathlib.Path(top), pathlib.Path(linux), pathlib.Path(out)
driver = pathlib.Path('drivers/accel/rknpu')
DOCS = ['uapi', 'vendor-uapi', 'parameters']
# A directory for each, which is what one reads at once; the last one makes it all built.
GROUPS = [
    ('MAINTAINERS: add the RKNPU driver', 'So that its patches reach somebody.', ['MAINTAINERS']),
    ('dt-bindings: npu: add what Rockchip\'s device trees have',
     'Boards whose trees come from Rockchip have one node for all cores of the NPU. The driver accepts these trees.',
     ['Documentation/devicetree']),
    ('drm: uapi of the RKNPU driver',
     'Rockchip\'s user space and Mesa\'s both run on the driver, each by the ABI that '
     'it has. The extensions of rocket\'s have numbers that mainline does not use.',
     ['include/uapi']),
    ('accel/rknpu: cores, program controllers and IOMMUs',
     'What touches registers, clocks, resets and power, and the descriptions of the chips. It knows no job.',
     [driver / 'hw', driver / 'compat']),
    ('accel/rknpu: BOs and address spaces',
     'BOs and whom they are charged to, address spaces, mappings, deferred releases.', [driver / 'mem']),
    ('accel/rknpu: scheduler', 'Jobs, clients, run queues, deadlines and recovery. It knows no uAPI.', [driver / 'sched']),
    ('accel/rknpu: counters and dumps', 'What debugfs and a devcoredump show.', [driver / 'debug']),
    ('accel/rknpu: the ABI of rocket', 'An accel node for Mesa.', [driver / 'rocket']),
    ('accel/rknpu: the ABI of Rockchip\'s driver', 'A DRM node for librknnrt and RKLLM.', [driver / 'vendor']),
    ('accel/rknpu: build the driver', 'The device, the module, and Kconfig.',
     [driver, 'drivers/accel/Kconfig', 'drivers/accel/Makefile', 'drivers/Kconfig', 'drivers/Makefile']),
    ('selftests: accel/rknpu: add tests', 'They want a board or the model of the NPU in QEMU.', ['tools']),
    ('Documentation: accel: describe the ABIs of rknpu', 'For those who write user space.', ['Documentation']),
]
KCONFIG = '''# SPDX-License-Identifier: GPL-2.0-only

config DRM_ACCEL_RKNPU
	tristate "RKNPU (support for Rockchip NPUs, with both ABIs)"
	depends on {depends}
	depends on ARM64
	depends on ARCH_ROCKCHIP || COMPILE_TEST
	depends on ROCKCHIP_IOMMU || COMPILE_TEST
{others}	select SYNC_FILE
	select WANT_DEV_COREDUMP
	help
	  Choose this option if you have a Rockchip SoC with an NPU, such as
	  the RK3588 or the RK3576. The driver serves Mesa, by the ABI of
	  rocket, and Rockchip's runtime, by that of Rockchip's driver, at
	  the same time.

	  If unsure, say N.

	  To compile this driver as a module, choose M here: the
	  module will be called rknpu_accel.

config DRM_ACCEL_RKNPU_VENDOR
	bool "ABI of Rockchip's driver"
	depends on DRM_ACCEL_RKNPU
	default y
	help
	  A DRM node with the ioctls of Rockchip's driver, for librknnrt and
	  RKLLM, and the files in debugfs and procfs that its tools read.

	  Without it only Mesa, and what else knows the ABI of rocket, can
	  use the NPU.
'''
MAINTAINERS = '''ROCKCHIP NPU ACCEL DRIVER (RKNPU)
M:	{author}
L:	dri-devel@lists.freedesktop.org
S:	Maintained
F:	Documentation/accel/rknpu/
F:	Documentation/devicetree/bindings/npu/rockchip,*-rknpu.yaml
F:	drivers/accel/rknpu/
F:	include/uapi/drm/rknpu_drm.h
F:	include/uapi/drm/rocket_accel.h
F:	tools/testing/selftests/drivers/accel/rknpu/

'''


def write(path, text):
    path = out / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tree(path):
    """A file of the tree, or None."""
    path = linux / path
    return path.read_text() if path.exists() else None


# ---- compat/ ----

known = set(re.findall(r'^(?:probe|defined) (\w+)', (top / driver / 'compat/probes.sh').read_text(), re.M))
found = set(re.findall(r'^#define RKNPU_HAVE_(\w+)', pathlib.Path(have).read_text(), re.M))
if not known or not found <= known:
    sys.exit(f'series.py: {have} is not of these probes')
ANSWERS = [('-DRKNPU_HAVE_' if name in found else '-URKNPU_HAVE_') + name for name in sorted(known)]


def resolved(path):
    """What of a file this tree needs."""
    run = subprocess.run([unifdef, '-k', *ANSWERS, str(path)], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode > 1:
        sys.exit(f'series.py: unifdef fails on {path}')
    return re.sub(r'\n{3,}', '\n\n', run.stdout)


def is_name(line):
    return re.match(r'#define (RKNPU_COMPAT_\w+|rknpu_compat_\w+)', line)


class Names:
    """Macros, and structs without a member, that stand for what the tree has."""
    def __init__(self):
        self.macros, self.empty = {}, []

    def take(self, text):
        """Learns those of a resolved header; returns whether it has something else."""
        text = re.sub(r'/\*.*?\*/|^//[^\n]*', '', text, flags=re.S | re.M).replace('\\\n', ' ')
        guard = re.search(r'^#ifndef (__RKNPU_COMPAT_\w+)\n#define \1\n', text, re.M)
        if guard:
            text = text.replace(guard[0], '').rstrip().removesuffix('#endif')
        for struct in re.findall(r'^struct (rknpu_compat_\w+) \{\s*\};\n', text, re.M):
            self.empty.append(struct)
            text = re.sub(r'^struct %s \{\s*\};\n' % struct, '', text, flags=re.M)
        rest = []
        for line in text.split('\n'):
            if not line.strip() or line.startswith('#include'):
                continue
            m = re.match(r'#define (\w+)(?:\(([^)]*)\))?\s*(.*)', line)
            if m and is_name(line):
                args = m[2].split(', ') if m[2] is not None else None
                self.macros[m[1]] = args, ' '.join(m[3].split())
            else:
                rest.append(line)
        return bool(rest)

    def apply(self, text):
        for struct in self.empty:
            text = re.sub(r'(\t/\*\* @(\w+): [^\n]*\*/\n)?\tstruct %s \w+;\n' % struct, '', text)
        for name, (args, body) in self.macros.items():
            while (m := re.search(r'\b%s\b' % name, text)):
                text = self.expand(text, m, args, body)
        return text

    @staticmethod
    def expand(text, m, args, body):
        end = m.end()
        if args is not None:
            values, end = arguments(text, m.end())
            for arg, value in zip(args, values, strict=True):
                plain = value if re.fullmatch(r'[&\w>.-]+|\w+\([\w, ]*\)', value) else f'({value})'
                if re.fullmatch(r'&\w+', value):
                    body = body.replace(f'({arg})->', f'{value[1:]}.')
                body = re.sub(r'\(%s\)|\b%s\b' % (arg, arg), lambda m, v=value, p=plain: p if m[0][0] == '(' else v, body)
        if body.startswith('(') and arguments(body, 0)[1] == len(body):
            body = body[1:-1]
        # What is empty on a line of its own leaves none.
        if not body and re.search(r'\n\s*$', text[:m.start()]) and text[end] == '\n':
            return text[:m.start()].rstrip() + text[end:]
        return text[:m.start()] + body + text[end:]


def arguments(text, at):
    """Those between the parentheses that open at @at, and where these end."""
    depth, start, values = 0, at + 1, []
    for i in range(at, len(text)):
        if text[i] in '([{':
            depth += 1
        elif text[i] in ')]}':
            depth -= 1
            if not depth:
                values.append(' '.join(text[start:i].split()))
                return values, i + 1
        elif text[i] == ',' and depth == 1:
            values.append(' '.join(text[start:i].split()))
            start = i + 1
    sys.exit('series.py: parentheses')


def compat():
    """The names to replace; compat/'s files are written if others are left."""
    names, kept = Names(), {}
    for path in sorted((top / driver / 'compat').glob('*.[ch]')):
        text = resolved(path)
        if path.name != 'compat.h' and names.take(text):
            kept[path.name] = text
    for path in sorted((top / driver / 'compat/include').rglob('*.h')):
        inside = path.relative_to(top / driver / 'compat')
        if not (linux / inside).exists():
            kept[str(inside)] = resolved(path)
    if kept:
        # All of it: headers lean on each other, and names stay names.
        names = Names()
        for path in sorted((top / driver / 'compat').glob('*.[ch]')):
            kept[path.name] = resolved(path)
        for name, text in kept.items():
            write(driver / 'compat' / name, text)
    return names, kept


# ---- the driver ----

def makefile(kept):
    text = (top / driver / 'Kbuild').read_text()
    head, objects = text[:text.index('\nobj-m')], text[text.index('\n# The module, and'):text.index('\n# Kept until')]
    flags = 'ccflags-y := -I$(src)'
    if kept:
        # Before 6.10 $(src) is below the tree, and what is built elsewhere is not built there.
        flags = '# compat/ has what this kernel lacks.\n' + \
            'rknpu-compat := $(dir $(firstword $(wildcard $(src)/compat/compat.h $(srctree)/$(src)/compat/compat.h)))\n' + \
            re.search(r'^rknpu-flags := (.*)', head, re.M)[0].replace('rknpu-flags', 'ccflags-y') + \
            '\nccflags-y += -I$(rknpu-compat).. -include $(rknpu-compat)compat.h -I$(rknpu-compat)include'
    else:
        objects = re.sub(r'\tcompat/\w+\.o \\\n', '', objects)
        objects = re.sub(r'(# debug/: [^.]*\.)[^\n]*', r'\1', objects)
    objects = objects.replace('rknpu_accel-$(RKNPU_VENDOR)', 'rknpu_accel-$(CONFIG_DRM_ACCEL_RKNPU_VENDOR)')
    write(driver / 'Makefile', '# SPDX-License-Identifier: GPL-2.0-only\n\n' + flags +
          '\n\nobj-$(CONFIG_DRM_ACCEL_RKNPU) += rknpu_accel.o\n' + objects)


def source(text, names):
    text = re.sub(r'"(\.\./)+include/uapi/drm/(\w+\.h)"', r'<drm/\2>', text)
    text = re.sub(r'"(\.\./)+include/npu/(\w+\.h)"', r'"\2"', text)
    text = re.sub(r'^#ifdef RKNPU_VENDOR$', '#ifdef CONFIG_DRM_ACCEL_RKNPU_VENDOR', text, flags=re.M)
    return names.apply(text)


def drive():
    names, kept = compat()
    for path in sorted((top / driver).rglob('*.[ch]')):
        inside = path.relative_to(top)
        if 'compat' not in inside.parts:
            write(inside, source(path.read_text(), names))
    for name in ('rk3588_regs.h', 'rk3588_scrub.h'):
        text = (top / 'include/npu' / name).read_text()
        write(driver / 'hw' / name, re.sub(r'"npu/(\w+\.h)"', r'"\1"', text))
    makefile(kept)


def kconfig():
    accel = tree('drivers/accel/Kconfig')
    others = ''
    if tree('drivers/accel/rocket/Kconfig'):
        others += '\tdepends on DRM_ACCEL_ROCKET!=y\n'
    if tree('drivers/rknpu/Kconfig'):
        others += '\tdepends on ROCKCHIP_RKNPU!=y\n'
    write(driver / 'Kconfig', KCONFIG.format(depends='DRM_ACCEL' if accel else 'DRM', others=others))
    line = 'source "drivers/accel/rknpu/Kconfig"\n'
    if accel:
        write('drivers/accel/Kconfig', put_sorted(accel, line, r'source "drivers/accel/'))
        write('drivers/accel/Makefile', put_sorted(tree('drivers/accel/Makefile').rstrip('\n') + '\n',
                                                   'obj-$(CONFIG_DRM_ACCEL_RKNPU)\t\t+= rknpu/\n', r'obj-'))
    else:
        text = tree('drivers/Kconfig')
        write('drivers/Kconfig', text.replace('\nendmenu', '\n' + line + '\nendmenu'))
        write('drivers/Makefile', tree('drivers/Makefile').rstrip('\n') + '\nobj-$(CONFIG_DRM_ACCEL_RKNPU)\t+= accel/rknpu/\n')


def put_sorted(text, line, like):
    """A line before the first of its like that sorts behind it."""
    lines = text.splitlines(keepends=True)
    same = [i for i, l in enumerate(lines) if re.match(like, l)]
    place = next((i for i in same if lines[i] > line), same[-1] + 1)
    return ''.join(lines[:place] + [line] + lines[place:])


# ---- all else ----

def maintainers():
    text = tree('MAINTAINERS')
    entry = MAINTAINERS.format(author=author)
    title = entry.split('\n')[0]
    first = text.index('\n3C59X NETWORK DRIVER')
    place = next(m.start(1) for m in re.finditer(r'\n\n([^\s].*)\n(?=[A-Z]:\t)', text[first:]) if m[1].upper() > title) + first
    write('MAINTAINERS', text[:place] + entry + text[place:])


def bindings():
    for path in sorted((top / 'Documentation/devicetree/bindings/npu').glob('*.yaml')):
        inside = path.relative_to(top)
        # One that the tree has is its own.
        if not (linux / inside).exists():
            write(inside, path.read_text())


def uapi():
    for path in sorted((top / 'include/uapi/drm').glob('*.h')):
        write(path.relative_to(top), path.read_text())


def selftests():
    place = pathlib.Path('tools/testing/selftests/drivers/accel/rknpu')
    for path in sorted((top / 'selftests').iterdir()):
        if path.is_file() and path.name != 'README.rst':
            write(place / path.name, path.read_text())
            (out / place / path.name).chmod(path.stat().st_mode)
    text = tree('tools/testing/selftests/Makefile')
    write('tools/testing/selftests/Makefile', put_sorted(text, 'TARGETS += drivers/accel/rknpu\n', r'TARGETS \+= drivers/'))


def documentation():
    place = pathlib.Path('Documentation/accel/rknpu')
    for page in DOCS:
        text = (top / place / f'{page}.rst').read_text()
        text = re.sub(r':doc:`(\w[\w-]*)`', lambda m: m[0] if m[1] in DOCS else f'"{m[1]}" of the rknpu-accel project', text)
        text = re.sub(r':ref:`([\w-]+)`', lambda m: m[0] if f'.. _{m[1]}:' in text else f'"{m[1]}" of the rknpu-accel project', text)
        write(place / f'{page}.rst', text)
    write(place / 'index.rst', '.. SPDX-License-Identifier: GPL-2.0-only\n\n=====\nrknpu\n=====\n\n'
          'The driver for Rockchip\'s NPUs that has both the ABI of ``rocket`` and that of Rockchip\'s own driver.\n\n'
          '.. toctree::\n   :maxdepth: 1\n\n' + ''.join(f'   {page}\n' for page in DOCS))
    index = tree('Documentation/accel/index.rst')
    if index:
        write('Documentation/accel/index.rst', put_sorted(index.rstrip('\n') + '\n', '   rknpu/index\n', r'   \w+/index'))


def groups():
    files = sorted(str(p.relative_to(out)) for p in out.rglob('*') if p.is_file())
    lines = []
    for i, (subject, body, paths) in enumerate(GROUPS, 1):
        mine = [f for f in files if any(f == str(p) or f.startswith(f'{p}/') for p in paths)]
        files = [f for f in files if f not in mine]
        if mine:
            (out / f'.message.{i}').write_text(f'{subject}\n\n{textwrap.fill(body, 72)}\n')
            lines.append(' '.join([str(i), *mine]) + '\n')
    if files:
        sys.exit('series.py: no patch has ' + ' '.join(files))
    (out / '.groups').write_text(''.join(lines))


drive()
kconfig()
maintainers()
bindings()
uapi()
selftests()
documentation()
groups()
