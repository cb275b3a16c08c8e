#!/usr/bin/env python3
"""Holds sources and objects against tests/rooms.txt: who may include and call whom.

usage: rooms.py TABLE SOURCES BUILD [SOURCES BUILD ...]

Prints a line for each fault: a file in no room, an include or a call that the table does not grant,
a circle of files. Two files of the same name but for .c and .h count as one. Exits 1 if there are
any. Further pairs of trees are looked at beside the first; the test plants faults in such."""

import os
import re
import subprocess
import sys

SOURCES = (".c", ".h", ".cc", ".def", ".hip")
TREES = ("lib", "gen", "tools")
PUBLIC = ("aothip/", "aotriton/")


def read_table(path):
    rooms, faults = {}, []
    for line in open(path, encoding="utf-8"):
        if line.startswith("#") or not line.strip():
            continue
        room, _, used = line.partition(":")
        rooms[room] = used.split()
        faults += [f"{path}: {room} names {u}, which does not stand above it"
                   for u in rooms[room] if u not in rooms or u == room]
    return rooms, faults


def files_below(root, endings, hidden):
    for tree in TREES:
        for directory, names, files in os.walk(os.path.join(root, tree)):
            names[:] = [n for n in names if hidden or not n.startswith(".")]
            for name in files:
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(directory, name), root)


def file_of_object(path):
    """The source that an object was made of, without its ending: lib/.libs/libx_la-api.o: lib/api"""
    directory, name = os.path.split(path.replace("/.libs/", "/"))
    return os.path.join(directory, name[:-2].rsplit("-", 1)[-1])


def includes(roots):
    """(file, included file), both below their root; its bare name if no room has it."""
    found = {}
    for root in roots:
        for path in files_below(root, SOURCES, False):
            found.setdefault(os.path.basename(path), []).append((root, path))
    for places in list(found.values()):
        for root, path in places:
            text = open(os.path.join(root, path), encoding="utf-8").read()
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
                if name.startswith(PUBLIC):
                    continue
                for _, target in found.get(name, [(None, None)]):
                    yield path, target or name


def calls(roots, sources):
    """(file without ending, symbol, file without ending that defines it)"""
    defined, wanted = {}, set()
    objects = {}
    for root in roots:
        for path in files_below(root, (".o",), True):
            this = file_of_object(path)
            if any(this + e in sources for e in (".c", ".cc")): # not left over from one that has gone
                objects[os.path.join(root, path)] = this
    if objects:
        out = subprocess.run([os.environ.get("NM", "nm"), "-A", "-g", *objects],
                             check=True, capture_output=True, text=True).stdout
        for path, kind, symbol in re.findall(r"^(.*\.o):[0-9a-f ]*([A-Za-z]) (\S+)$", out, re.M):
            if kind in "Uw":
                wanted.add((objects[path], symbol))
            elif symbol != "main":
                defined.setdefault(symbol, set()).add(objects[path])
    for this, symbol in sorted(wanted):
        for target in defined.get(symbol, ()):
            if target != this:
                yield this, symbol, target


def circles(edges):
    """Groups of files that reach each other (Tarjan)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(edges.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(group) > 1:
                groups.append(sorted(group))

    for v in sorted(edges):
        if v not in index:
            visit(v)
    return groups


def main():
    if len(sys.argv) < 4 or len(sys.argv) % 2:
        sys.exit(__doc__)
    rooms, faults = read_table(sys.argv[1])
    sources, builds = sys.argv[2::2], sys.argv[3::2]
    edges, used = {}, set()

    def look(this, target, how):
        a, b = os.path.dirname(this), os.path.dirname(target)
        if b in rooms and a in rooms:
            used.add((a, b))
            if a != b and b not in rooms[a]:
                faults.append(f"{this} {how} of {target}: {a} may not use {b}")
        stem, other = os.path.splitext(this)[0], os.path.splitext(target)[0]
        if stem != other:
            edges.setdefault(stem, set()).add(other)

    for root in sources:
        faults += [f"{path}: its folder is no room of the table"
                   for path in files_below(root, SOURCES, False)
                   if os.path.dirname(path) not in rooms]
    for this, target in includes(sources):
        if os.path.dirname(target):
            look(this, target, f"includes {os.path.basename(target)}")
        else:
            faults.append(f"{this} includes {target}, which is in no room")
    known = {path for root in sources for path in files_below(root, SOURCES, False)}
    for this, symbol, target in calls(builds, known):
        if this.startswith("lib/") or not symbol.startswith("aothip_"):
            look(this, target, f"calls {symbol}")
    faults += ["a circle: " + ", ".join(group) for group in circles(edges)]
    faults += [f"{sys.argv[1]}: {a} does not use {b}" for a in rooms for b in rooms[a]
               if (a, b) not in used]
    print("\n".join(sorted(set(faults))), end="\n" if faults else "")
    sys.exit(bool(faults))


main()
