#!/usr/bin/env python3
"""Dependencies point downwards only: checks every #include against the table of layers."""
import pathlib
import re
import sys

MAY_SEE = {
    "core": [],
    "linalg": ["core"],
    "glm": ["core", "linalg"],
    "data": ["core", "linalg", "glm"],
    "privacy": ["core", "linalg"],
    "wire": ["core", "linalg", "privacy"],
    "transport": ["core", "wire"],
    "secure": ["core", "linalg", "wire"],
    "rounds": ["core", "linalg", "privacy", "wire", "transport", "secure"],
    "algorithms": ["core", "linalg", "glm", "data", "privacy", "rounds"],
    "catalog": ["core", "linalg", "glm", "data", "privacy", "rounds", "algorithms"],
}

root = pathlib.Path(__file__).resolve().parent.parent
source = root / "src" / "parley"
problems = []
checked = 0
for folder in sorted(p for p in source.iterdir() if p.is_dir()):
    if folder.name not in MAY_SEE:
        problems.append(f"src/parley/{folder.name}: a folder that is no layer; add it to scripts/check_layers.py")
        continue
    allowed = {folder.name, *MAY_SEE[folder.name]}
    for path in sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")]):
        checked += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+[<"](parley|apps)/([a-z_]+)/', line)
            if found and (found[1] == "apps" or found[2] not in allowed):
                problems.append(f"{path.relative_to(root)}:{number}: {folder.name} may not see {found[1]}/{found[2]}")
print("\n".join(problems) if problems else f"layers: {checked} files, every include points downwards")
sys.exit(1 if problems else 0)
