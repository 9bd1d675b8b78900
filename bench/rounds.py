#!/usr/bin/env python3
"""One round that averages floats over 10 clients on loopback: Parley (gRPC, mutual TLS), the same written straight
against gRPC (mutual TLS), and Flower 1.4 (gRPC; as it comes, and with its server's TLS). Every client is a process.
Then in process, beside arithmetic and copies.

Runs alternate between the programs; the figure is the median over runs of the median round.
"""
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build")) / "bench"
VENV = ROOT / "build-bench" / "flower"
CLIENTS = 10
REPEATS = int(os.environ.get("REPEATS", "3"))


def flower_python():
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", "flwr==1.4.0", "numpy"], check=True)
    return python


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_listener(port):
    while True:
        try:
            socket.create_connection(("127.0.0.1", int(port))).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)


def over_grpc(program, floats, rounds, keys):
    server = subprocess.Popen([BUILD / program, "server", str(floats), str(rounds), str(CLIENTS), keys],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().split()[1]
    clients = [
        subprocess.Popen([BUILD / program, "client", port, f"client{c}",
                          str(floats), keys]) for c in range(CLIENTS)
    ]
    if program == "rounds_bare":
        for client in clients:
            client.wait()
    median = float(server.communicate()[0].split()[-1])
    for client in clients:
        client.wait()
    return median


def own_certificate(folder):
    """For Flower, which checks the name of the machine."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/localhost.key",
                    "-out", f"{folder}/localhost.pem"], check=True, capture_output=True)


def flower(python, floats, rounds, keys):
    port = str(free_port())
    script = ROOT / "bench" / "rounds_flower.py"
    quiet = {"stderr": subprocess.DEVNULL, "text": True}
    server = subprocess.Popen([python, script, "server", port, str(floats), keys, str(rounds), str(CLIENTS)],
                              stdout=subprocess.PIPE, **quiet)
    await_listener(port)  # its clients give up when nobody listens yet
    clients = [subprocess.Popen([python, script, "client", port, str(floats), keys], stdout=subprocess.DEVNULL, **quiet)
               for _ in range(CLIENTS)]
    median = float(server.communicate()[0].split()[-1])
    for client in clients:
        client.wait()
    return median


def local(floats, rounds):
    out = subprocess.run(
        [BUILD / "rounds_bench", "local", str(floats),
         str(rounds), str(CLIENTS)], check=True, capture_output=True, text=True)
    runtime, bare = map(float, out.stdout.split())
    return runtime, bare


def main():
    python = flower_python() if "--no-flower" not in sys.argv else None
    with tempfile.TemporaryDirectory() as keys:
        subprocess.run([BUILD / "rounds_bench", "keys", keys, str(CLIENTS)], check=True)
        own_certificate(keys)
        print(f"{'floats':>8} {'Parley ms':>10} {'bare ms':>9} {'Flower ms':>10} {'Flower+TLS':>11} {'x bare':>7} "
              f"{'x Flower':>9} "
              f"{'x Flower+TLS':>13}")
        for floats, rounds, flower_rounds in ((100, 300, 60), (100_000, 150, 30)):
            ours, bare, theirs, tls = [], [], [], []
            for _ in range(REPEATS):
                ours.append(over_grpc("rounds_bench", floats, rounds, keys))
                bare.append(over_grpc("rounds_bare", floats, rounds, keys))
                if python:
                    theirs.append(flower(python, floats, flower_rounds, "-"))
                    tls.append(flower(python, floats, flower_rounds, keys))
            us, it = statistics.median(ours), statistics.median(bare)
            plain, safe = (statistics.median(each) if each else float("nan") for each in (theirs, tls))
            print(f"{floats:>8} {us:>10.3f} {it:>9.3f} {plain:>10.2f} {safe:>11.2f} {us / it:>7.2f} {plain / us:>9.1f} "
                  f"{safe / us:>13.1f}", flush=True)
    for floats in (100, 100_000, 1_000_000):
        pairs = [local(floats, 200 if floats < 1e6 else 40) for _ in range(REPEATS)]
        runtime, bare = statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)
        print(
            f"in process, {floats} floats: {runtime:.3f} ms, arithmetic and copies {bare:.3f} ms, {runtime / bare:.2f}x"
        )


if __name__ == "__main__":
    main()
