#!/usr/bin/env python3
"""Code is written once: refuses runs of more than ten lines that stand twice in src or apps.

White space and comments do not count, nor do lines that say nothing by themselves: includes, using, namespaces,
braces. Runs that differ in names or values are not found; reviews look for those.
"""
import pathlib
import re
import sys
import tempfile

LONGEST = 10  # lines that may stand twice

# Pairs of files that still share longer runs, each with the reason why it may stay for now.
EXCEPTIONS = {}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
SAYS_NOTHING = re.compile(
    r"#\s*(include|pragma|endif|else)\b.*|using\b.*|(inline )?namespace\b.*|(public|private):|[{}()\[\];,]*")


def lines_of(path):
    """The lines that count, folded, each with its number."""
    def without_comment(found):
        return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")

    code = COMMENT_OR_TEXT.sub(without_comment, path.read_text())
    folded = ((number, " ".join(line.split())) for number, line in enumerate(code.split("\n"), 1))
    return [(number, line) for number, line in folded if not SAYS_NOTHING.fullmatch(line)]


def repeats(files):
    """Runs of more than LONGEST lines, as (file, first line, last line, other file, its first line)."""
    size = LONGEST + 1
    lines = {path: lines_of(path) for path in files}
    first_seen = {}
    found = []
    for path, code in lines.items():
        at = 0
        while at + size <= len(code):
            window = tuple(line for _, line in code[at:at + size])
            other, begin = first_seen.setdefault(window, (path, at))
            length = size
            if other == path and begin + size > at:  # itself, or a list that goes on as it began
                at += 1
                continue
            while (at + length < len(code) and begin + length < len(lines[other])
                   and code[at + length][1] == lines[other][begin + length][1]):
                length += 1
            found.append((path, code[at][0], code[at + length - 1][0], other, lines[other][begin][0]))
            at += length
    return found


def refused(root, exceptions):
    files = sorted(path for folder in ("src", "apps") for ending in ("h", "cpp", "inc")
                   for path in (root / folder).rglob(f"*.{ending}"))
    said = []
    for path, first, last, other, begin in repeats(files):
        names = (str(path.relative_to(root)), str(other.relative_to(root)))
        if names not in exceptions and names[::-1] not in exceptions:
            said.append(f"{names[0]}:{first}-{last}: stands at {names[1]}:{begin}, too; write it once")
    return said, len(files)


def self_test():
    """A planted repeat is found, whatever its layout, and one of ten lines is not."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        (root / "apps").mkdir()
        code = [f'  take({line}, "// {line}");' for line in range(LONGEST + 1)]
        (root / "src" / "one.h").write_text("#pragma once\nvoid one() {\n" + "\n".join(code) + "\n}\n")
        laid_out = "  // why\n\n".join(f" {line}  /* so\n */\n#include <x>\n" for line in code)
        (root / "apps" / "two.cpp").write_text("int two() {\n" + laid_out + "}\n")
        planted, _ = refused(root, {})
        assert len(planted) == 1 and "src/one.h:3-13: stands at apps/two.cpp:2" in planted[0], planted
        assert not refused(root, {("apps/two.cpp", "src/one.h"): "planted"})[0]
        (root / "src" / "one.h").write_text("void one() {\n" + "\n".join(code[:LONGEST]) + "\n}\n")
        assert not refused(root, {})[0]


self_test()
problems, checked = refused(pathlib.Path(__file__).resolve().parent.parent, EXCEPTIONS)
print(
    "\n".join(problems) if problems else f"repeats: {checked} files, no run of more than {LONGEST} lines stands twice")
sys.exit(1 if problems else 0)
