#!/usr/bin/env python3
"""Reads timelines strictly: JSON with no name twice, no track on which two things overlap, and no
wave that lives twice.

timeline_check.py FILE PIPE...: things must have happened on these pipes. Prints how many did.
"""
import json
import sys


def unique(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a name twice in {names}"
    return dict(pairs)


def constant(text):
    raise ValueError(f"{text} is no JSON")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        trace = json.load(f, object_pairs_hook=unique, parse_constant=constant)
    tracks, names, processes, pipes, lives = {}, {}, set(), set(), set()
    for e in trace["traceEvents"]:
        track = e["pid"], e.get("tid")
        if e["ph"] == "M":
            if e["name"] == "process_name":
                processes.add(e["pid"])
            elif e["name"] == "thread_name":
                assert track not in names, f"{track} is named twice"
                names[track] = e["args"]["name"]
            continue
        assert e["ph"] == "X" and e["ts"] >= 0 and e["dur"] >= 0 and e["name"], e
        if e["cat"] != "waves":
            assert e["args"]["text"].startswith(e["name"]), e
        else:
            wave = e["pid"], e["args"]["group"], e["args"]["wave"]
            assert wave not in lives, f"{e} lives twice"
            lives.add(wave)
        pipes.add(e["cat"])
        tracks.setdefault(track, []).append((e["ts"], e["ts"] + e["dur"]))
    assert set(sys.argv[2:]) <= pipes, f"only {sorted(pipes)}"
    assert len(set(names.values())) == len(names) or len(processes) > 1, "two tracks of one name"
    for track, slices in tracks.items():
        assert track in names and track[0] in processes, f"{track} has no name"
        slices.sort()
        for before, after in zip(slices, slices[1:]):
            assert before[1] <= after[0], f"{names[track]}: {before} and {after} overlap"
    print(sum(map(len, tracks.values())), "on", len(tracks), "tracks")


main()
