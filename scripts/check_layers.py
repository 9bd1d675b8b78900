#!/usr/bin/env python3
"""Dependencies point downwards only, and only where somebody needs them.

Checks every #include of src/parley against the table of layers:
  - a layer includes no layer but those that the table names for it;
  - no files of one layer include each other in a circle (a header and its source count as one file);
  - a layer that the table names, or that USES in a CMakeLists.txt names, is included by some file.
"""
import pathlib
import re
import sys

MAY_SEE = {
    "core": [],
    "linalg": ["core"],
    "glm": ["core", "linalg"],
    "data": ["core", "linalg"],
    "privacy": ["core", "linalg"],
    "wire": ["core", "linalg", "privacy"],
    "transport": ["core", "wire"],
    "secure": ["core"],
    "rounds": ["core", "privacy", "wire", "transport"],
    "algorithms": ["core", "linalg", "glm", "data", "privacy", "secure", "rounds"],
    "jobs": ["core", "glm", "data", "privacy", "wire", "secure", "rounds"],
    "models": ["core", "linalg", "glm", "data", "jobs"],
    "catalog": ["core", "linalg", "glm", "data", "privacy", "secure", "rounds", "algorithms", "jobs", "models"],
    "runs": ["core", "glm", "data", "privacy", "wire", "secure", "rounds", "algorithms", "jobs", "models", "catalog"],
}

INCLUDE = re.compile(r'\s*#\s*include\s+[<"](parley|apps)/([a-z_]+)/([^">]*)[">]')


class Layer:
    """The includes of one folder of src/parley."""

    def __init__(self, folder):
        self.name = folder.name
        self.files = sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")])
        self.lines = []  # path, number of the line, "parley" or "apps", layer
        self.within = {}  # file -> the files of the layer that it includes, without their endings
        for path in self.files:
            own = str(path.relative_to(folder).with_suffix(""))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if found := INCLUDE.match(line):
                    self.lines.append((path, number, found[1], found[2]))
                    other = found[3].rsplit(".", 1)[0]
                    if (found[1], found[2]) == ("parley", self.name) and other != own:
                        self.within.setdefault(own, set()).add(other)
        self.seen = {layer for _, _, tree, layer in self.lines if tree == "parley"} - {self.name}
        self.cmake = sorted(folder.rglob("CMakeLists.txt"))

    def circle(self):
        """Files that include each other, the first again at the end; None where there are none."""
        shortest = None
        for start in sorted(self.within):
            before, reached = {start: None}, [start]
            for file in reached:  # grows on the way
                for other in sorted(self.within.get(file, ())):
                    if other == start:
                        circle = [start]
                        while file is not None:
                            circle.insert(0, file)
                            file = before[file]
                        if shortest is None or len(circle) < len(shortest):
                            shortest = circle
                        break
                    if other not in before:
                        before[other] = file
                        reached.append(other)
        return shortest

    def uses(self):
        """What USES in the layer's CMakeLists.txt names: the file and the layer."""
        for path in self.cmake:
            for call in re.finditer(r"\bparley_layer\(([^)]*)\)", path.read_text()):
                words = call[1].split()
                if "USES" in words:
                    for word in words[words.index("USES") + 1:]:
                        if word.isupper():
                            break
                        yield path, word


def check(root, may_see):
    """The mistakes that were found, one line each, and the number of files that were read."""
    problems, files = [], 0
    for folder in sorted(p for p in (root / "src" / "parley").iterdir() if p.is_dir()):
        if folder.name not in may_see:
            problems.append(f"src/parley/{folder.name}: is not a layer; add it to scripts/check_layers.py")
            continue
        layer = Layer(folder)
        files += len(layer.files)
        allowed = {layer.name, *may_see[layer.name]}
        for path, number, tree, seen in layer.lines:
            if tree == "apps" or seen not in allowed:
                problems.append(f"{path.relative_to(root)}:{number}: {layer.name} may not see {tree}/{seen}")
        for unused in sorted(set(may_see[layer.name]) - layer.seen):
            problems.append(f"scripts/check_layers.py: {layer.name} may see {unused}, and no file of it does")
        for path, used in layer.uses():
            if used not in layer.seen:
                problems.append(f"{path.relative_to(root)}: {layer.name} USES {used}, and no file of it includes {used}")
        if circle := layer.circle():
            problems.append(f"src/parley/{layer.name}: files include each other: {' -> '.join(circle)}")
    return problems, files


def main():
    problems, files = check(pathlib.Path(__file__).resolve().parent.parent, MAY_SEE)
    print("\n".join(problems) if problems else f"layers: {files} files, every include points downwards, in no circle")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
