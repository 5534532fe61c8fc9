#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""In a guest: has clients compute while Debian's monitors look, and prints what these show and what fdinfo says, as JSON."""

import fcntl
import glob
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

COLUMNS, LINES = 100, 30
# glances looks every two seconds and is shown the last full one: so old is nothing that it shows.
SETTLED = 6
# Python starts slowly here.
PATIENCE = 240
SECONDS = 3
SAMPLES = '/tmp/samples'
# Its files have the clients' pids for names.
CLIENTS = '/tmp/clients'

ENVIRONMENT = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/tmp', 'LOGNAME': 'root', 'LANG': 'C.UTF-8', 'TERM': 'linux'}


def usage(pid):
    """What fdinfo says of a process: the client's number, and by key what is counted."""
    for path in glob.glob(f'/proc/{pid}/fdinfo/*'):
        try:
            with open(path, encoding='utf-8') as f:
                keys = dict(re.findall(r'^([a-z0-9-]+):\s+(\d+)', f.read(), re.M))
        except OSError:
            continue
        if 'rknpu-client' in keys:
            return {key: int(value) for key, value in keys.items() if key.startswith(('drm-', 'rknpu-'))}
    return {}


def watch(path):
    """Ten times a second: when, and nanoseconds of all cores by process."""
    # Those that it looks at need the processors, too.
    os.nice(-15)
    with open(path, 'w', encoding='utf-8') as f:
        while True:
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            busy = {pid: sum(value for key, value in usage(pid).items() if key.startswith('drm-engine-'))
                    for pid in os.listdir(CLIENTS)}
            json.dump([before, time.clock_gettime_ns(time.CLOCK_MONOTONIC), busy], f)
            print(file=f, flush=True)
            time.sleep(0.1)


class Clients:
    """Those that compute, and what they had done when."""

    def __init__(self):
        self.running = {}
        os.mkdir(CLIENTS)
        self.watcher = os.fork()
        if not self.watcher:
            watch(SAMPLES)

    def start(self, *words):
        """A client, which computes when this returns."""
        process = subprocess.Popen(['/rknpu_load', *words], stdout=subprocess.PIPE, env=ENVIRONMENT)
        process.stdout.readline()
        self.running[process.pid] = process
        with open(f'{CLIENTS}/{process.pid}', 'w', encoding='utf-8'):
            pass
        return process.pid

    def stop(self):
        """The samples; of half of the last line there is none."""
        os.kill(self.watcher, signal.SIGKILL)
        os.waitpid(self.watcher, 0)
        for process in self.running.values():
            process.kill()
            process.wait()
        with open(SAMPLES, encoding='utf-8') as f:
            return [json.loads(line) for line in f if line.endswith('\n')]


class Terminal:
    """A program on a terminal that understands what it prints."""

    def __init__(self, *argv):
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', LINES, COLUMNS, 0, 0))
            os.execvpe(argv[0], argv, ENVIRONMENT)

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def picture(self, deadline):
        """The screen after the next output, or None at the deadline or the program's end."""
        seen = False
        while time.monotonic() < deadline:
            # Pieces of a picture follow each other at once.
            if not select.select([self.fd], [], [], 0.5)[0]:
                if seen:
                    return self.lines()
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return None
            seen = True
            self.stream.feed(data)
        return None

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def watch_glances(clients, phases):
    """Its pictures with the time of each, while clients come; each phase starts with one more."""
    terminal = Terminal('glances', '--disable-plugin', 'all', '--enable-plugin', 'npu,now')
    pictures = []
    for phase, words in enumerate(phases):
        if words:
            clients.start(*words)
        # The first picture takes Python's time.
        since = None if phase == 0 else time.monotonic()
        deadline = time.monotonic() + PATIENCE
        while True:
            picture = terminal.picture(deadline)
            if picture is None:
                pictures.append({'phase': phase, 'at': 0, 'screen': terminal.lines()})
                break
            at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            pictures.append({'phase': phase, 'at': at, 'screen': picture})
            since = since or time.monotonic()
            if time.monotonic() > since + SETTLED:
                break
    terminal.end()
    return pictures


def run(*argv):
    process = subprocess.run(argv, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return {'status': process.returncode, 'out': process.stdout, 'err': process.stderr}


def perf_stat(pid, core):
    """What "perf stat" counts of one client's engine and memory, between two looks at fdinfo."""
    before = usage(pid)
    said = run('perf', 'stat', '-x', ';', '-e', f'drm-engine-npu{core},drm-total-memory', '-p', str(pid), '--', 'sleep', '1')
    return {'pid': pid, 'core': core, 'before': before, 'perf': said, 'after': usage(pid)}


def perf_record(pids):
    """What "perf" records of the jobs' ends, between two looks at fdinfo."""
    looks = [{'at': time.clock_gettime_ns(time.CLOCK_MONOTONIC), 'usage': {pid: usage(pid) for pid in pids}}]
    said = run('perf', 'record', '-q', '-a', '-k', 'CLOCK_MONOTONIC', '-o', '/tmp/perf.data', '-e', 'rknpu:*',
               '--', 'sleep', str(SECONDS))
    looks.append({'at': time.clock_gettime_ns(time.CLOCK_MONOTONIC), 'usage': {pid: usage(pid) for pid in pids}})
    return {'looks': looks, 'record': said, 'script': run('perf', 'script', '-i', '/tmp/perf.data'),
            'report': run('perf', 'report', '--stdio', '-i', '/tmp/perf.data', '--sort', 'client,core')}


def watch_nvtop():
    """Its first picture; a version that does not know this NPU says so and ends."""
    with open('/usr/bin/nvtop', 'rb') as f:
        knows = b'rknpu' in f.read()
    terminal = Terminal('nvtop')
    picture = terminal.picture(time.monotonic() + PATIENCE)
    if knows and picture:
        picture = terminal.picture(time.monotonic() + PATIENCE)
    terminal.end()
    return {'knows': knows, 'at': time.clock_gettime_ns(time.CLOCK_MONOTONIC), 'screen': picture or terminal.lines()}


def main():
    clients = Clients()
    seen = {'glances': watch_glances(clients, [(), ('0',), ('-v', '1')])}
    pids = list(clients.running)
    seen['pids'] = pids
    seen['perf_record'] = perf_record(pids)
    seen['nvtop'] = watch_nvtop()
    # perf asks DRM's own nodes alone, of which the vendor's uAPI has one.
    clients.start('-v', '2')
    seen['perf_stat'] = [perf_stat(pid, core) for core, pid in enumerate(clients.running) if core > 0]
    seen['samples'] = clients.stop()
    print(json.dumps(seen))


if __name__ == '__main__':
    main()
