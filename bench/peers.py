"""Peers of the benchmarks live in an environment of their own, build-bench/venv, made on first use."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def use(packages, modules):
    """Goes on inside that environment, with the packages there; single-threaded like `exact` beside them."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    if sys.prefix != sys.base_prefix:
        return
    python = ROOT / "build-bench/venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    if subprocess.run([python, "-c", "import " + ",".join(modules)], stderr=subprocess.DEVNULL).returncode:
        subprocess.run([python, "-m", "pip", "-q", "install", *packages], check=True)
    os.execv(python, [str(python), *sys.argv])
