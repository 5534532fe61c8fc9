#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files of a directory include only what lies below them: check-rooms.py ORDERFILE DIR

Each line of ORDERFILE names rooms, the lowest line first; rooms on one line do not include each other.
A room is a folder of DIR, "." for DIR itself, or a pattern of file names (hw/irq*, hw/irq.[ch]). A file belongs to the
first pattern that matches it, else to the innermost folder that is a room. "#" starts a comment.

A file includes files of its own room and of rooms on lower lines. Files of one room form no circle, where NAME.c and
NAME.h count as one. Only #include "..." counts; it is looked up beside the including file, then in DIR.
"""
import fnmatch
import os
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def read_order(path):
    """The line of each room, counted from the lowest."""
    rooms = {}
    with open(path, encoding='utf-8') as f:
        lines = [line.split('#')[0].split() for line in f]
    for level, names in enumerate(filter(None, lines)):
        for name in names:
            name = os.path.normpath(name)
            if name in rooms:
                sys.exit(f'{path}: {name} is listed twice')
            rooms[name] = level
    return rooms


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
    rooms = read_order(order)
    room = {path: room_of(path, rooms, top) for path in sources(top)}
    bad = [f'{path}: belongs to no room of {order}' for path in room if room[path] is None]
    bad += [f'{order}: {name}: no file belongs to this room' for name in rooms if name not in room.values()]
    graph = {}
    count = 0
    for path in room:
        for number, target in includes(top, path, room):
            count += 1
            here, there = room[path], room[target]
            place = f'{os.path.join(top, path)}:{number}: {path} ({here}) includes {target} ({there})'
            if here == there:
                if unit(path) != unit(target):
                    graph.setdefault(unit(path), {}).setdefault(unit(target), place)
            elif here and there and rooms[there] >= rooms[here]:
                bad.append(f'{place}, which is not below it')
    circle = find_circle(graph)
    while circle:
        bad.append('a circle of includes:\n    ' + '\n    '.join(circle))
        # Without one of its includes the next circle shows.
        for to in graph.values():
            for name in [name for name, place in to.items() if place == circle[-1]]:
                del to[name]
        circle = find_circle(graph)
    print('\n'.join(bad + [f'{top}: {len(room)} files, {len(rooms)} rooms, {count} includes between them']))
    return 1 if bad or not room else 0


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: check-rooms.py ORDERFILE DIR')
    sys.exit(main(*sys.argv[1:]))
