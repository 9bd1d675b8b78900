"""The same round in Flower: a server, or a client, over its gRPC stream: as it comes, or with TLS (the server shows a
certificate; this version's clients show none). KEYS is a folder with localhost.pem and localhost.key, or "-".

    rounds_flower.py server PORT FLOATS KEYS ROUNDS CLIENTS      prints the median milliseconds of a round
    rounds_flower.py client PORT FLOATS KEYS
"""
import logging
import pathlib
import sys
import time

import flwr
import numpy as np

logging.getLogger("flwr").setLevel(logging.ERROR)


class Client(flwr.client.NumPyClient):
    def __init__(self, floats):
        self.own = np.full(floats, 0.25, np.float32)

    def get_parameters(self, config):
        return [np.ones_like(self.own)]

    def fit(self, parameters, config):
        return [np.float32(0.5) * parameters[0] + self.own], 1, {}


class Timed(flwr.server.strategy.FedAvg):
    def __init__(self, clients, floats):
        super().__init__(fraction_fit=1.0, fraction_evaluate=0.0, min_fit_clients=clients,
                         min_available_clients=clients,
                         initial_parameters=flwr.common.ndarrays_to_parameters([np.ones(floats, np.float32)]))
        self.times = []

    def aggregate_fit(self, server_round, results, failures):
        assert not failures
        aggregated = super().aggregate_fit(server_round, results, failures)
        self.times.append(time.perf_counter())
        return aggregated


if __name__ == "__main__":
    role, port, floats, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    own = None if keys == "-" else (pathlib.Path(keys) / "localhost.pem").read_bytes()
    if role == "client":
        flwr.client.start_numpy_client(server_address=f"localhost:{port}", client=Client(floats), root_certificates=own)
    else:
        rounds, clients = int(sys.argv[5]), int(sys.argv[6])
        strategy = Timed(clients, floats)
        shown = own and (own, own, (pathlib.Path(keys) / "localhost.key").read_bytes())
        flwr.server.start_server(server_address=f"localhost:{port}", strategy=strategy, certificates=shown,
                                 config=flwr.server.ServerConfig(num_rounds=rounds))
        later = strategy.times[len(strategy.times) // 10:]
        laps = sorted(1000 * (b - a) for a, b in zip(later, later[1:]))
        print(f"{laps[len(laps) // 2]:.4f}")
