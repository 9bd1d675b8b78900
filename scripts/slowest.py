#!/usr/bin/env python3
"""Where the time of a build goes: the twenty objects and the twenty tests of a build folder that took longest.

    scripts/slowest.py [BUILD...]        build and build-dev when none is given

Seconds of the clock on the wall, as ninja and ctest note them, so an idle machine and an empty cache tell most.
"""
import pathlib
import re
import sys

COUNT = 20


def objects(build):
    """Of every output the last time it was made."""
    took = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, *_ = line.split("\t")
        if output.endswith((".o", ".gch", ".pch")):
            name = re.sub(r"CMakeFiles/(\w+)\.dir/(Unity/)?", lambda found: f"[{found[1]}] "
                          if found[2] else "", output)
            took[name.removeprefix("src/parley/")] = (int(end) - int(begin)) / 1000
    return took


def tests(build):
    log = build / "Testing" / "Temporary" / "LastTest.log"
    if not log.exists():
        return {}
    return {
        name: float(seconds)
        for name, seconds in re.findall(r"^\d+/\d+ Test: (\S+)$.*?^Test time = +([\d.]+) sec$",
                                        log.read_text(errors="replace"), re.M | re.S)
    }


def table(title, took):
    print(f"{title}: {len(took)} in {sum(took.values()):.0f} s\n")
    for name, seconds in sorted(took.items(), key=lambda one: -one[1])[:COUNT]:
        print(f"{seconds:8.1f}  {name}")
    print()


for build in [pathlib.Path(name) for name in sys.argv[1:]
              ] or [path for path in (pathlib.Path("build"), pathlib.Path("build-dev")) if path.exists()]:
    table(f"{build}: objects", objects(build))
    table(f"{build}: tests of the last run", tests(build))
