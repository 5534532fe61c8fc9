# SPDX-License-Identifier: GPL-2.0-only
"""Reads a list of changes for bin/mutate-list, and makes one.

changes.py LIST names            their names
changes.py LIST show NAME        what it is, the file, why none notices it, and its tests, between tabs
changes.py LIST make NAME TREE   changes the file in a tree
changes.py LIST check            fails unless each can be made here
"""
import os
import sys
import tomllib


def changed(change, tree):
    """The changed text; None, with a word why, where the file has not what is to be changed, once."""
    with open(os.path.join(tree, change['file']), encoding='utf-8') as f:
        text = f.read()
    found = text.count(change['old'])
    if found != 1:
        print(f'{change["name"]}: what it changes is {found} times in {change["file"]}', file=sys.stderr)
        return None
    return text.replace(change['old'], change['new'])


def make(change, tree):
    text = changed(change, tree)
    if text is None:
        sys.exit(1)
    with open(os.path.join(tree, change['file']), 'w', encoding='utf-8') as f:
        f.write(text)


def main(path, what, name=None, tree=None):
    with open(path, 'rb') as f:
        changes = {c['name']: c for c in tomllib.load(f)['change']}
    if what == 'names':
        print('\n'.join(changes))
        return
    if what == 'check':
        sys.exit(any([changed(c, '.') is None for c in changes.values()]))
    if name not in changes:
        sys.exit(f'{path} has no {name}')
    change = changes[name]
    if what == 'make':
        make(change, tree)
    else:
        # No column is empty, or a shell would skip it.
        print(change['what'], change['file'], change.get('equal', '-'), ' '.join(change['tests']), sep='\t')


main(*sys.argv[1:])
