#!/usr/bin/env python3
"""The round of rounds.py in Flower 1.41 as it is deployed today: a SuperLink, 10 SuperNodes and an app given to `flwr
run`, all on loopback, without TLS and without authentication of nodes (which is to its advantage).

A round is the time between two aggregations of FedAvg; the first aggregation only starts the clock. Prints the median
round of each size. Every task of a client is a process, which Flower's SuperExec starts; it asks for tasks every
second, or every FLWR_SUPEREXEC_TASK_POLL_INTERVAL seconds when that is set. The isolation is Flower's default
(subprocess): in the other one the same SuperExec is started by hand and starts the same processes.
"""
import contextlib
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build-bench" / "flower-new"
CLIENTS = 10
ROUNDS = int(os.environ.get("ROUNDS", "5"))
LIMIT = int(os.environ.get("LIMIT", "600"))
INTERVAL = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"
STOPS = (signal.SIGALRM, signal.SIGTERM)

PROJECT = """
[project]
name = "rounds"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []
[tool.flwr.app]
publisher = "parley"
[tool.flwr.app.components]
serverapp = "rounds_app:server"
clientapp = "rounds_app:client"
[tool.flwr.app.config]
floats = 100
rounds = 5
clients = 10
out = ""
"""

APP = '''
import os
import time

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()
server = ServerApp()


@client.train()
def train(message, context):
    own = np.full(context.run_config["floats"], 0.25, np.float32)
    arrays = ArrayRecord([np.float32(0.5) * message.content["arrays"].to_numpy_ndarrays()[0] + own])
    return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1})}), reply_to=message)


class Timed(FedAvg):
    def __init__(self, clients):
        super().__init__(
            fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=clients, min_available_nodes=clients)
        self.clients, self.times = clients, []

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        assert len(replies) == self.clients and not any(reply.has_error() for reply in replies)
        aggregated = super().aggregate_train(server_round, replies)
        self.times.append(time.perf_counter())
        return aggregated


@server.main()
def main(grid, context):
    config = context.run_config
    strategy = Timed(config["clients"])
    answer = "failed"
    try:
        first = ArrayRecord([np.ones(config["floats"], np.float32)])
        result = strategy.start(grid, first, num_rounds=config["rounds"] + 1)
        mean = result.arrays.to_numpy_ndarrays()[0]
        assert mean.shape == (config["floats"],) and np.allclose(mean, 0.5 + 0.5 ** (config["rounds"] + 2))
        answer = " ".join(str(1000 * (b - a)) for a, b in zip(strategy.times, strategy.times[1:]))
    finally:
        with open(config["out"] + ".part", "w") as out:
            out.write(answer)
        os.rename(config["out"] + ".part", config["out"])
'''


def environment():
    if not (VENV / "bin" / "flwr").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", "flwr==1.41.0", "numpy"], check=True)
    kept = {name: value for name, value in os.environ.items()
            if name == INTERVAL or not (name.lower().endswith("_proxy") or name.startswith(("FLWR_", "PYTHON")))}
    return kept | {
        "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1", "FLWR_LOG_LEVEL": "ERROR"
    }


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [str(probe.getsockname()[1]) for probe in probes]


def await_listener(port, process):
    while process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", int(port))).close()
        time.sleep(0.1)
    raise RuntimeError("the SuperLink ended")


def with_descendants(pids):
    children = {}
    for line in subprocess.run(["ps", "-A", "-o", "ppid=,pid="], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        parent, child = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = list(pids)
    for pid in found:
        found += children.get(pid, [])
    return found


@contextlib.contextmanager
def federation(folder, settings):
    started = []

    def start(name, *arguments):
        home = folder / f"home{len(started)}"
        home.mkdir()
        with open(folder / "log", "ab") as log:
            started.append(
                subprocess.Popen([VENV / "bin" / name, "--insecure", *arguments],
                                 env=settings | {"FLWR_HOME": str(home)}, cwd=home, stdin=subprocess.DEVNULL,
                                 stdout=log, stderr=log))
        return started[-1]

    try:
        link, *nodes = free_ports(1 + CLIENTS)
        await_listener(
            link,
            start("flower-superlink", "--host", "127.0.0.1", "--port", link,
                  "--disable-runtime-dependency-installation"))
        for node in nodes:
            start("flower-supernode", "--superlink", f"127.0.0.1:{link}", "--host", "127.0.0.1", "--port", node)
        yield link
    except BaseException:
        print((folder / "log").read_text(errors="replace")[-4000:], file=sys.stderr)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        for pid in with_descendants([process.pid for process in started]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in started:
            process.wait()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def measure(settings, sizes):
    """Every size and its median round in milliseconds."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        app, home = folder / "app", folder / "home"
        app.mkdir()
        home.mkdir()
        (app / "pyproject.toml").write_text(PROJECT)
        (app / "rounds_app.py").write_text(APP)
        with federation(folder, settings) as link:
            (home / "config.toml").write_text(f'[superlink.here]\naddress = "127.0.0.1:{link}"\ninsecure = true\n')
            for floats in sizes:
                out = folder / f"out{floats}"
                subprocess.run([
                    VENV / "bin" / "flwr", "run", app, "here", "--run-config",
                    f'floats={floats} rounds={ROUNDS} clients={CLIENTS} out="{out}"'
                ], env=settings | {"FLWR_HOME": str(home)}, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT)
                while not out.exists():
                    time.sleep(0.5)
                laps = [float(lap) for lap in out.read_text().split()]
                assert len(laps) == ROUNDS
                yield floats, statistics.median(laps)


def give_up(*_):
    raise TimeoutError("stopped, or not done in time")


def main():
    settings = environment()
    for stop in STOPS:
        signal.signal(stop, give_up)
    signal.alarm(LIMIT)
    for floats, median in measure(settings, (100, 100_000)):
        print(f"Flower 1.41, {floats} floats: {median:.0f} ms a round", flush=True)


if __name__ == "__main__":
    main()
