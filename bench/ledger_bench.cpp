// Durable charges per second: one by one, and from threads that wait together (group commit).
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "parley/privacy/ledger/ledger.h"

using namespace parley::privacy;

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "parley-ledger-bench";
  const Purse purse{"bench"};
  fmt::print("{:>8} {:>16}\n", "threads", "charges/s");
  for (const int threads : {1, 4, 16, 64}) {
    std::filesystem::remove_all(folder);
    auto ledger = Ledger::open(folder);
    if (!ledger || !ledger->set_budget(purse, {*Epsilon::make(1e6), *Delta::make(1e-6)})) return 1;
    constexpr int kEach = 400;
    std::atomic<int> paid{0};
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i)
          if (ledger->charge(purse, {"run", fmt::format("{}/{}", t, i), {Gaussian{100, 1}, 1}})) ++paid;
      });
    for (auto& worker : workers) worker.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (paid != threads * kEach) return 1;
    fmt::print("{:>8} {:>16.0f}\n", threads, paid / seconds);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
