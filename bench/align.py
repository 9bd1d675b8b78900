"""Private set intersection beside the rate of its group, measured in the same run: bench/align.py [--ids 100000]"""
import argparse
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", pathlib.Path(__file__).resolve().parent.parent / "build"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", type=int, default=100_000)
    args = parser.parse_args()
    subprocess.run([BUILD / "bench" / "align_bench", str(args.ids)], check=True)


if __name__ == "__main__":
    main()
