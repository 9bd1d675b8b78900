// labels: threads
#include "parley/privacy/randomness/generator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <set>
#include <vector>

using namespace parley;
using namespace parley::privacy;

namespace {

std::unique_ptr<SecureGenerator> secure() {
  return std::move(SecureGenerator::from_system()).value();
}

std::vector<std::uint64_t> draw(Bits& bits, std::size_t count) {
  std::vector<std::uint64_t> words(count);
  bits.fill(words);
  return words;
}

// What a child process draws first, sent home through a pipe.
template <class Spawn>
std::uint64_t first_word_of_child(Bits& bits, const Spawn& spawn) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = spawn();
  if (child == 0) {
    const std::uint64_t word = bits.next_u64();
    _exit(write(ends[1], &word, sizeof word) == sizeof word ? 0 : 1);
  }
  std::uint64_t word = 0;
  EXPECT_EQ(read(ends[0], &word, sizeof word), static_cast<ssize_t>(sizeof word));
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  close(ends[1]);
  return word;
}

int entropy_calls_left = 0;
bool failing_entropy(std::span<unsigned char> bytes) {
  return entropy_calls_left-- > 0 && system_entropy(bytes);
}

}  // namespace

TEST(SecureGenerator, TwoGeneratorsAndTwoForksOfOneLabelShareNoWord) {
  const auto one = secure();
  const auto two = secure();
  const auto fork_a = one->fork("party").value();
  const auto fork_b = one->fork("party").value();
  std::set<std::uint64_t> seen;
  for (Bits* bits : {static_cast<Bits*>(one.get()), static_cast<Bits*>(two.get()), fork_a.get(), fork_b.get()})
    for (const auto word : draw(*bits, 5000)) seen.insert(word);
  // 20,000 words of 64 bits collide by chance with probability 1.1e-11.
  EXPECT_EQ(seen.size(), 20000u);
}

TEST(SecureGenerator, KeepsTheClaimAndItsForksDoToo) {
  const auto bits = secure();
  EXPECT_TRUE(bits->claims_valid());
  EXPECT_TRUE(bits->fork("round", 3).value()->claims_valid());
}

TEST(SecureGenerator, AChildProcessDrawsOtherWordsThanItsParent) {
  const auto bits = secure();
  bits->next_u64();  // the pool is half full when the process forks
  const std::uint64_t in_child = first_word_of_child(*bits, [] { return ::fork(); });
  EXPECT_NE(in_child, bits->next_u64());
}

TEST(SecureGenerator, AProcessClonedBehindLibcsBackDrawsOtherWordsToo) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const bool kernel_can_wipe = madvise(page, 4096, MADV_WIPEONFORK) == 0;
  munmap(page, 4096);
  if (!kernel_can_wipe) GTEST_SKIP() << "this kernel has no MADV_WIPEONFORK";
  const auto bits = secure();
  bits->next_u64();
  const std::uint64_t in_child =
      first_word_of_child(*bits, [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); });
  EXPECT_NE(in_child, bits->next_u64());
}

TEST(SecureGenerator, GrandchildrenDrawOtherWordsToo) {
  const auto bits = secure();
  bits->next_u64();
  const std::uint64_t first = first_word_of_child(*bits, [] { return ::fork(); });
  const std::uint64_t second = first_word_of_child(*bits, [] { return ::fork(); });
  EXPECT_NE(first, second);
}

TEST(SecureGenerator, WithoutEntropyThereIsNoGenerator) {
  entropy_calls_left = 0;
  const auto bits = SecureGenerator::from_system(&failing_entropy);
  ASSERT_FALSE(bits);
  EXPECT_EQ(bits.error().fault, Fault::kFailed);
}

TEST(SecureGenerator, EntropyFromElsewhereEarnsNoClaim) {
  entropy_calls_left = 1;
  EXPECT_FALSE(SecureGenerator::from_system(&failing_entropy).value()->claims_valid());
  EXPECT_TRUE(secure()->claims_valid());
}

TEST(SecureGenerator, WithoutEntropyAfterAForkItThrowsAndGivesNoWord) {
  entropy_calls_left = 1;
  const auto bits = std::move(SecureGenerator::from_system(&failing_entropy)).value();
  bits->next_u64();
  const pid_t child = ::fork();
  if (child == 0) {
    // Also the second try must throw: a generator that failed once does not recover by being asked again.
    int refusals = 0;
    for (int attempt = 0; attempt < 2; ++attempt) try {
        bits->next_u64();
      } catch (const RandomnessFailure&) {
        ++refusals;
      }
    _exit(refusals == 2 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SecureGenerator, BitsAreBalancedAndBytesUniform) {
  // False alarm: |z| > 6 once, 2e-9; chi-square with 255 degrees of freedom above 400, 2e-8.
  const auto bits = secure();
  const auto words = draw(*bits, 1 << 16);
  double ones = 0;
  std::array<double, 256> counts{};
  for (const auto word : words) {
    ones += std::popcount(word);
    for (int byte = 0; byte < 8; ++byte) ++counts[(word >> (8 * byte)) & 255];
  }
  const double total = 64.0 * static_cast<double>(words.size());
  EXPECT_LT(std::abs(ones - total / 2) / std::sqrt(total / 4), 6);
  double chi_square = 0;
  const double expected = 8.0 * static_cast<double>(words.size()) / 256;
  for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 400);
}

TEST(SeededGenerator, RepeatsItselfAndVoidsTheClaim) {
  SeededGenerator one(7), two(7), other(8);
  EXPECT_FALSE(one.claims_valid());
  EXPECT_EQ(draw(one, 5000), draw(two, 5000));
  EXPECT_NE(draw(one, 10), draw(other, 10));
}

TEST(SeededGenerator, AForkDependsOnSeedLabelAndRoundOnlyNotOnWhatWasDrawnBefore) {
  SeededGenerator fresh(7), used(7);
  draw(used, 333);
  const auto fresh_fork = fresh.fork("clinic", 4).value();
  const auto used_fork = used.fork("clinic", 4).value();
  EXPECT_FALSE(fresh_fork->claims_valid());
  EXPECT_EQ(draw(*fresh_fork, 100), draw(*used_fork, 100));
}

TEST(SeededGenerator, RoundsPartiesAndNestedForksDiffer) {
  SeededGenerator root(7);
  std::set<std::uint64_t> first_words;
  const auto note = [&](Result<std::unique_ptr<Bits>> bits) { first_words.insert((*bits)->next_u64()); };
  note(root.fork("clinic", 0));
  note(root.fork("clinic", 1));
  note(root.fork("insurer", 0));
  note(root.fork("clinic"));
  note(root.fork(""));
  note(root.fork("clinic").value()->fork("clinic"));
  first_words.insert(root.next_u64());
  EXPECT_EQ(first_words.size(), 7u);
}

TEST(Bits, FillGivesTheWordsThatSingleDrawsWouldGive) {
  for (const std::size_t count : {1, 7, 2047, 2048, 2049, 10000}) {
    SeededGenerator bulk(1), single(1);
    for (int repeat = 0; repeat < 3; ++repeat)
      for (const auto word : draw(bulk, count)) ASSERT_EQ(word, single.next_u64()) << count;
  }
}

TEST(Bits, BelowIsUniformAndInRange) {
  SeededGenerator bits(3);
  std::array<double, 7> counts{};
  constexpr double kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(bits.below(7));
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - kDraws / 7) * (count - kDraws / 7) / (kDraws / 7);
  EXPECT_LT(chi_square, 50);  // 6 degrees of freedom: 5e-9
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bits.below(1), 0u);
  // A bound just above 2^63 refuses almost every second word; a biased method would favour small results.
  constexpr std::uint64_t kLarge = (1ull << 63) + 1;
  int upper_half = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto value = bits.below(kLarge);
    ASSERT_LT(value, kLarge);
    upper_half += value >= kLarge / 2 ? 1 : 0;
  }
  EXPECT_NEAR(upper_half, 5000, 300);  // six standard deviations
}
