#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files of a directory include only what lies below them: check-rooms.py ORDERFILE DIR

Each line of ORDERFILE names rooms, the lowest line first; rooms on one line do not include each other.
A room is a folder of DIR, "." for DIR itself, or a pattern of file names (hw/irq*, hw/irq.[ch]). A file belongs to the
first pattern that matches it, else to the innermost folder that is a room. "#" starts a comment.

A file includes files of its own room and of rooms on lower lines. Files of one room form no circle, where NAME.c and
NAME.h count as one. Only #include "..." counts; it is looked up beside the including file, then in DIR.

With a line "%calls" the same is asked of functions: a file calls those of its own room and of lower ones, wherever they
are declared, and files of one room do not call each other in a circle.
"""
import fnmatch
import os
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
# Of a function that other files can call, with its return type before it and its body on the next line.
DEFINITION = re.compile(r'^(?!static\b|typedef\b|#)[A-Za-z][^;{}=()]*?\b(\w+)\([^;{}]*?\)\s*\n\{', re.M)
CALL = re.compile(r'\b(\w+)\(')


def read_order(path):
    """The line of each room, counted from the lowest, and whether calls count."""
    rooms = {}
    with open(path, encoding='utf-8') as f:
        lines = [line.split('#')[0].split() for line in f]
    with_calls = ['%calls'] in lines
    lines = [names for names in lines if names != ['%calls']]
    for level, names in enumerate(filter(None, lines)):
        for name in names:
            name = os.path.normpath(name)
            if name in rooms:
                sys.exit(f'{path}: {name} is listed twice')
            rooms[name] = level
    return rooms, with_calls


def sources(top):
    for at, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(('.c', '.h', '.c.inc', '.h.inc')) and not name.endswith('.mod.c'):
                yield os.path.relpath(os.path.join(at, name), top)


def room_of(path, rooms, top):
    for room in rooms:
        if not os.path.isdir(os.path.join(top, room)) and fnmatch.fnmatchcase(path, room):
            return room
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    folder = folder or '.'
    return folder if folder in rooms else None


def includes(top, path, files):
    """Line and target of each include of a file of ours."""
    with open(os.path.join(top, path), encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            for base in (os.path.dirname(path), ''):
                target = os.path.normpath(os.path.join(base, found[1]))
                if target in files:
                    yield number, target
                    break


def code(top, path):
    """The file without comments and strings, line by line as it was."""
    with open(os.path.join(top, path), encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), f.read(), flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def calls(top, files):
    """File, line, function and the file that defines it, of each call of another file's function."""
    texts = {path: code(top, path) for path in files if path.endswith('.c')}
    defined = {name: path for path in texts for name in DEFINITION.findall(texts[path])}
    for path, text in texts.items():
        for number, line in enumerate(text.split('\n'), 1):
            for name in CALL.findall(line):
                if defined.get(name, path) != path:
                    yield path, number, name, defined[name]


def unit(path):
    return os.path.join(os.path.dirname(path), os.path.basename(path).split('.')[0])


def find_circle(graph):
    """The places of includes that form a circle, or None."""
    done, stack = set(), []

    def visit(at):
        if at in stack:
            circle = stack[stack.index(at):] + [at]
            return [graph[a][b] for a, b in zip(circle, circle[1:])]
        if at in done:
            return None
        stack.append(at)
        for to in sorted(graph.get(at, ())):
            circle = visit(to)
            if circle:
                return circle
        done.add(stack.pop())
        return None

    for start in sorted(graph):
        circle = visit(start)
        if circle:
            return circle
    return None


def main(order, top):
    rooms, with_calls = read_order(order)
    room = {path: room_of(path, rooms, top) for path in sources(top)}
    bad = [f'{path}: belongs to no room of {order}' for path in room if room[path] is None]
    bad += [f'{order}: {name}: no file belongs to this room' for name in rooms if name not in room.values()]
    graphs = {'includes': {}, 'calls': {}}
    count = {'includes': 0, 'calls': 0}

    def meet(kind, path, target, place):
        count[kind] += 1
        here, there = room[path], room[target]
        if here == there:
            if unit(path) != unit(target):
                graphs[kind].setdefault(unit(path), {}).setdefault(unit(target), place)
        elif here and there and rooms[there] >= rooms[here]:
            bad.append(f'{place}, which is not below it')

    for path in room:
        for number, target in includes(top, path, room):
            meet('includes', path, target, f'{os.path.join(top, path)}:{number}: {path} ({room[path]}) includes '
                 f'{target} ({room[target]})')
    for path, number, name, target in calls(top, room) if with_calls else ():
        meet('calls', path, target, f'{os.path.join(top, path)}:{number}: {path} ({room[path]}) calls {name}() of '
             f'{target} ({room[target]})')
    for kind, graph in graphs.items():
        circle = find_circle(graph)
        while circle:
            bad.append(f'a circle of {kind}:\n    ' + '\n    '.join(circle))
            # Without its last one the next circle shows.
            for to in graph.values():
                for name in [name for name, place in to.items() if place == circle[-1]]:
                    del to[name]
            circle = find_circle(graph)
    print('\n'.join(bad + [f'{top}: {len(room)} files, {len(rooms)} rooms, {count["includes"]} includes and '
                           f'{count["calls"]} calls between them']))
    return 1 if bad or not room else 0


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: check-rooms.py ORDERFILE DIR')
    sys.exit(main(*sys.argv[1:]))
