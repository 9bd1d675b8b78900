"""Least-squares Frank-Wolfe: cached Gram columns beside the plain mode, in one process."""
import os
import subprocess
import sys

binary = os.path.join(os.environ["PARLEY_BENCH_BUILD"], "bench", "frank_wolfe_bench")
sys.exit(subprocess.run([binary, *sys.argv[1:]], check=False).returncode)
