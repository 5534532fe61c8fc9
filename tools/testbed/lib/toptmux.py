# SPDX-License-Identifier: GPL-2.0-only
"""Tests of npu-top on a terminal, which is tmux's. This process has files for /proc and /sys that are made up here."""
import json
import os
import re
import shutil
import subprocess
import time

# A host may be slow; that is how long anything may take to appear.
PATIENCE = 120
SECONDS = 0.2


class Machine:
    """Files of an NPU with three cores and of its clients."""

    def __init__(self, directory):
        self.proc, self.sys = os.path.join(directory, 'proc'), os.path.join(directory, 'sys')
        os.makedirs(os.path.join(self.proc, 'rknpu'))
        for path in ('module/rknpu_accel', 'bus/platform/drivers/rknpu-accel/fdab0000.npu/driver', 'class/devfreq/fdab0000.npu'):
            os.makedirs(os.path.join(self.sys, path))
        for name, hz in (('cur_freq', 200000000), ('max_freq', 1000000000)):
            self.write(os.path.join(self.sys, 'class/devfreq/fdab0000.npu', name), f'{hz}\n')
        self.set_load(10)

    @staticmethod
    def write(path, text):
        """At once, for whoever reads it."""
        with open(path + '.new', 'w', encoding='latin-1') as f:
            f.write(text)
        os.replace(path + '.new', path)

    def set_load(self, percent):
        self.write(os.path.join(self.proc, 'rknpu/load'), f'NPU load:  Core0: {percent}%, Core1:  0%, Core2:  0%,\n')

    def add_client(self, pid, comm):
        process = os.path.join(self.proc, str(pid))
        for name in ('fd', 'fdinfo'):
            os.makedirs(os.path.join(process, name))
        self.write(os.path.join(process, 'comm'), comm + '\n')
        self.set_time(pid, 1000)
        os.symlink('/dev/accel/accel0', os.path.join(process, 'fd/3'))

    def set_time(self, pid, ns):
        """What it has had of each core but the first."""
        self.write(os.path.join(self.proc, str(pid), 'fdinfo/3'),
                   f'rknpu-client:\t{pid - 100}\ndrm-total-memory:\t72 KiB\n' + ''.join(
                       f'drm-engine-npu{core}:\t{core * ns} ns\n' for core in range(3)))

    def remove_client(self, pid):
        shutil.rmtree(os.path.join(self.proc, str(pid)))

    def remove_npu(self):
        os.remove(os.path.join(self.proc, 'rknpu/load'))


class Terminal:
    """A shell on a terminal of tmux."""

    def __init__(self, socket, columns=80, lines=24):
        self.socket = socket
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(lines),
                  'env', 'PS1=$ ', 'bash', '--norc', '--noprofile', '-i')
        self.tmux('set-option', '-g', 'window-size', 'manual')
        self.wait(lambda rows: rows[0].startswith('$'))

    def tmux(self, *words):
        return subprocess.run(['tmux', '-S', self.socket, *words], check=True, capture_output=True, text=True).stdout

    def rows(self):
        return [row.rstrip() for row in self.tmux('capture-pane', '-p', '-N').split('\n')[:-1]]

    def is_as_before(self):
        """The screen with the shell's lines is back, and the cursor is shown."""
        return self.tmux('display-message', '-p', '#{alternate_on} #{cursor_flag}') == '0 1\n'

    def wait(self, is_right):
        """True as soon as the rows are right; false if they never become so."""
        until = time.monotonic() + PATIENCE
        while not is_right(self.rows()):
            if time.monotonic() > until:
                print('# on the screen instead:', *self.rows(), sep='\n# ')
                return False
            time.sleep(0.02)
        return True

    def type(self, *keys):
        self.tmux('send-keys', *keys)

    def resize(self, columns, lines):
        self.tmux('resize-window', '-x', str(columns), '-y', str(lines))

    def start(self, command):
        """Runs it; the shell then says how it ended, and whether the terminal's modes are as before."""
        self.type('-l', f'clear; m=$(stty -g); {command}; echo "status $? $([ "$m" = "$(stty -g)" ] && echo same)"')
        self.type('Enter')

    def ends(self, status, *lines):
        """It ended with that status, these lines and what the shell showed before are on the screen, and all is as it was."""
        return self.wait(lambda rows: f'status {status} same' in rows and all(any(line in row for row in rows) for line in lines)) \
            and self.is_as_before()

    def end(self):
        self.tmux('kill-server')


def picture(load, cores=3, names=('one', 'two'), memory=True, pid=True, lines=24):
    """Is that one picture, whole, with nothing left of another?"""
    want = [r'NPU at 200 of 1000 MHz', rf'core 0 \[\|*\ *\] +{load}\.0 %'] + [r'core \d \[ {20}\] +0\.0 %'] * (cores - 1) + ['']
    want += [' *CLIENT' + ' +PID' * pid + ' +NAME' + ' +MEMORY' * memory + r'( +CORE\d)' + f'{{{cores}}}']
    want += [r' +\d+' + r' +\d+' * pid + ' +' + re.escape(name) + r' +72 KiB' * memory + r'( +0\.0%)' + f'{{{cores}}}' for name in names]
    want = (want + [''] * lines)[:lines]
    return lambda rows: len(rows) == lines and all(re.fullmatch(w, row) for w, row in zip(want, rows))


def test_pictures(test, machine, terminal):
    terminal.start(f'$NPU_TOP --seconds {SECONDS}')
    test('terminal: the first picture is whole', terminal.wait(picture(10)))
    machine.set_load(100)
    test('terminal: the second one replaces it', terminal.wait(picture(100)))
    machine.set_load(5)
    test('terminal: a shorter bar leaves nothing of a longer one', terminal.wait(picture(5)))
    terminal.resize(110, 30)
    test('terminal: a larger one is used', terminal.wait(picture(5, lines=30)))
    terminal.resize(60, 24)
    test('terminal: a narrow one has no room for the memory', terminal.wait(picture(5, memory=False)))
    terminal.resize(48, 7)
    test('terminal: a low one has the first lines', terminal.wait(picture(5, memory=False, pid=False, lines=7)))
    terminal.resize(12, 3)
    test('terminal: a tiny one has their beginnings', terminal.wait(lambda rows: rows == ['NPU at 200 o', 'core 0 [|', 'core 1 [']))
    terminal.resize(80, 24)
    test('terminal: all is back on a larger one', terminal.wait(picture(5)))
    machine.remove_client(102)
    test('terminal: a client that is gone leaves nothing', terminal.wait(picture(5, names=('one',))))
    machine.add_client(102, 'a\x1b[31mb\x07\x9b2J"\\')
    test('terminal: a name does nothing to it', terminal.wait(picture(5, names=('one', 'a?[31mb??2J??'))))
    terminal.type('x')
    machine.set_load(35)
    test('terminal: another key does nothing', terminal.wait(picture(35, names=('one', 'a?[31mb??2J??'))))
    terminal.type('q')
    test('terminal: q ends it, and it leaves as it came', terminal.ends(0))
    machine.remove_client(102)
    machine.add_client(102, 'two')


def test_redraw(test, machine, terminal):
    """Another size shows the last look again, and does not wait for the next. On a host that stood still, the next has come."""
    terminal.start('$NPU_TOP --seconds 2')
    olds = []
    for i in range(5):
        terminal.resize(80, 24)
        machine.set_load(20 + i)
        terminal.wait(picture(20 + i))
        machine.set_load(50 + i)
        terminal.resize(60, 24)
        old, new = picture(20 + i, memory=False), picture(50 + i, memory=False)
        terminal.wait(lambda rows, old=old, new=new: old(rows) and not olds.append(old) or new(rows))
        if olds:
            break
    test('terminal: another size is used at once', olds)
    terminal.resize(80, 24)
    machine.set_load(35)
    terminal.type('q')
    terminal.ends(0)


def test_ends(test, machine, terminal):
    terminal.start(f'$NPU_TOP --seconds {SECONDS}')
    terminal.wait(picture(35))
    terminal.type('C-c')
    test('terminal: ^C ends it, and it leaves as it came', terminal.ends(0))
    terminal.start('$NPU_TOP --seconds 3600')
    terminal.wait(lambda rows: not any(rows))
    terminal.type('q')
    test('terminal: it ends before a picture, and leaves as it came', terminal.ends(0))
    terminal.start(f'$NPU_TOP --seconds {SECONDS}')
    terminal.wait(picture(35))
    terminal.type('C-z')
    test('terminal: ^Z stops it, and it leaves as it came', terminal.ends(148, 'Stopped'))
    terminal.start('fg')
    machine.set_load(70)
    test('terminal: it goes on after ^Z', terminal.wait(picture(70)))
    terminal.type('q')
    test('terminal: after ^Z it leaves as it came, too', terminal.ends(0))
    terminal.start(f'TERM=unknown $NPU_TOP --seconds {SECONDS}')
    test('terminal: an unknown one gets one look below the other',
         terminal.wait(lambda rows: sum('CLIENT' in row for row in rows) >= 2))
    terminal.type('C-c')
    terminal.wait(lambda rows: '$' in rows)
    terminal.start(f'$NPU_TOP --seconds {SECONDS}')
    terminal.wait(picture(70))
    machine.remove_npu()
    for pid in (101, 102):
        machine.remove_client(pid)
    test('terminal: where there is nothing any more, the line stays to be read', terminal.ends(1, 'nothing can be seen of the NPU'))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_hangup(test, machine, terminal, pid_file):
    machine.set_load(20)
    # In a session of its own no signal tells it.
    terminal.start(f"setsid -w sh -c 'echo $$ >{pid_file}; exec $NPU_TOP --seconds {SECONDS}'")
    terminal.wait(picture(20, names=()))
    with open(pid_file, encoding='utf-8') as f:
        pid = int(f.read())
    test('terminal: it runs', is_alive(pid))
    terminal.end()
    until = time.monotonic() + PATIENCE
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    test('terminal: it ends with its terminal', not is_alive(pid))


def test_numbers(test, machine, program):
    """A client has the number of another one that is gone, as after the module was loaded again."""
    with subprocess.Popen([program, '--json', '--seconds', '1'], stdout=subprocess.PIPE, text=True) as top:
        top.stdout.readline()
        machine.set_time(101, 10)
        looks = [json.loads(top.stdout.readline()) for _ in range(3)]
        top.terminate()
    machine.set_time(101, 1000)
    test('a client with the number of another one is not busier than it can be',
         all(0 <= use <= 100 for look in looks for client in look['clients'] for use in client['cores']))


def test_full(test, program):
    with open('/dev/full', 'w', encoding='utf-8') as full:
        top = subprocess.run([program, '--once', '--seconds', '0.1'], stdout=full, stderr=subprocess.PIPE, text=True,
                             check=False)
    test('a look that cannot be written is an error', top.returncode == 1 and top.stderr.count('\n') == 1)


def test_terminal(test, program, directory):
    """All of it: the program is npu-top for this host, proc and sys below the directory are /proc and /sys."""
    machine = Machine(directory)
    for pid, comm in ((101, 'one'), (102, 'two')):
        machine.add_client(pid, comm)
    test_numbers(test, machine, program)
    test_full(test, program)
    os.environ['NPU_TOP'] = program
    terminal = Terminal(os.path.join(directory, 'tmux'))
    try:
        test_pictures(test, machine, terminal)
        test_redraw(test, machine, terminal)
        test_ends(test, machine, terminal)
        test_hangup(test, machine, terminal, os.path.join(directory, 'pid'))
    except BaseException:
        terminal.end()
        raise
