// Private set intersection of two parties in one process beside the rate of ristretto255 measured in the same run, and
// what it sends.
//
//   align_bench [IDS]        ids of each party, 100,000 by default; half of them in common
//
// The bound: an id costs one hash to the group and two multiplications, one at each party.
#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "parley/catalog/align_tables.h"
#include "parley/core/threads.h"

namespace {

using Point = std::array<unsigned char, crypto_core_ristretto255_BYTES>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of `count` calls of body(i), by all threads.
template <class Body>
double seconds_of(std::size_t count, const Body& body) {
  const double began = now();
  parley::parallel_chunks(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
  return now() - began;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100000;
  if (sodium_init() < 0) return 1;
  std::vector<parley::data::RecordIds> ids(2);
  for (std::size_t p = 0; p < 2; ++p) {
    ids[p].records = count;
    for (std::size_t i = 0; i < count; ++i) {
      ids[p].ids.push_back(fmt::format("person-{}", p * count / 2 + i));
      ids[p].rows.push_back(static_cast<parley::linalg::Index>(i));
    }
  }
  const auto rate = [&] {
    const std::size_t sample = std::min<std::size_t>(count, 20000);
    std::vector<Point> points(sample);
    Point secret;
    crypto_core_ristretto255_scalar_random(secret.data());
    const double hashing = seconds_of(sample, [&](std::size_t i) {
      std::array<unsigned char, crypto_core_ristretto255_HASHBYTES> digest;
      const std::string& id = ids[0].ids[i];
      crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(id.data()), id.size(),
                         nullptr, 0);
      crypto_core_ristretto255_from_hash(points[i].data(), digest.data());
    });
    const double raising = seconds_of(sample, [&](std::size_t i) {
      Point raised;
      if (crypto_scalarmult_ristretto255(raised.data(), secret.data(), points[i].data()) != 0) std::abort();
    });
    return std::array{hashing / static_cast<double>(sample), raising / static_cast<double>(sample)};
  };
  const auto before = rate();
  const double began = now();
  const auto found = parley::catalog::align_here({"one", "other"}, ids, parley::algorithms::Alignment::Mode::kCommon);
  const double took = now() - began;
  const auto after = rate();
  if (!found || found->kept != static_cast<std::int64_t>(count - count / 2)) return 1;
  const double hashing = (before[0] + after[0]) / 2, raising = (before[1] + after[1]) / 2;
  const double bound = 2 * static_cast<double>(count) * (hashing + 2 * raising);
  const auto sent = found->communication.total();
  fmt::print("{} x {} ids, {} threads\n", count, count, parley::thread_count());
  fmt::print("hash {:.1f} us, multiplication {:.1f} us, by all threads\n", 1e6 * hashing, 1e6 * raising);
  fmt::print("alignment {:.2f} s, bound {:.2f} s: {:.1f} % of the bound's rate\n", took, bound, 100 * bound / took);
  fmt::print("bytes of an id pair: {:.1f} up, {:.1f} down\n", static_cast<double>(sent.up) / static_cast<double>(count),
             static_cast<double>(sent.down) / static_cast<double>(count));
  return 0;
}
