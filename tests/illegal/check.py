#!/usr/bin/env python3
"""Programs that must not compile, each with the message it must give; and one that must."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

compiler, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
folder = pathlib.Path(__file__).resolve().parent


def check(path):
    wanted = re.match(r"// must (say: (.*)|compile)", path.read_text().splitlines()[0])
    if not wanted:
        return f"{path.name}: the first line says neither 'must say: ...' nor 'must compile'"
    done = subprocess.run([
        compiler, "-std=c++20", "-fsyntax-only", "-fmax-errors=20", f"-I{source / 'src'}", f"-I{build / 'generated'}",
        str(path)
    ], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if wanted[1] == "compile":
        return None if done.returncode == 0 else f"{path.name}: does not compile:\n{done.stderr[:800]}"
    if done.returncode == 0:
        return f"{path.name}: compiles, and must not"
    errors = "\n".join(line for line in done.stderr.splitlines() if "error" in line)
    if not re.search(wanted[2], errors):
        return f"{path.name}: refused, but not with '{wanted[2]}':\n{errors[:800]}"
    return None


programs = sorted(folder.glob("*.cpp"))
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    problems = [problem for problem in pool.map(check, programs) if problem]
print("\n".join(problems) if problems else f"illegal: {len(programs) - 1} programs refused as they must be, 1 compiles")
sys.exit(1 if problems or len(programs) < 21 else 0)
