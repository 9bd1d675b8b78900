// Masks that a dealer hands out as seeds, and the words of a ring that lie under them. What they hide, from whom, and
// whom that trusts: masked_descent.md.
//
//   stream(seed, purpose, index, part) = AES-256 in counter mode under SHA-256(domain | seed | purpose | index | part)
//
// A value of Z/2^b plus a mask that is uniform in Z/2^b and used once says nothing to whoever has not the mask. So
// there is a fourth kind of value beside those of values.h:
//
//   UnderMask<Word>    uniform, given all that others hold; made by the gate alone, from a Private value and a
//                      DealtMask that is used up, or from a share of a sum that was paid for; it leaves under a seal
//                      to one other party and in no other way: the dealer, who knows the mask, relays what it cannot
//                      read
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"

struct evp_cipher_ctx_st;

namespace parley::privacy {

template <class Word>
concept RingWord = std::same_as<Word, std::uint32_t> || std::same_as<Word, std::uint64_t>;

// What a stream of a seed is for.
enum class Dealt : std::uint8_t {
  kMatrix = 1,  // A_k; part: a column
  kResidual,    // b_k of an index
  kMargin,      // delta_k of an index
  kCosines,     // a share of cosines and sines of an index; part: which
  kProducts,    // a share of c of an index
  kPartySeed,   // the dealer's own: seeds of parties
};

inline constexpr std::size_t kDealtSeedBytes = 32;

// Words of one stream, from its beginning.
class DealtStream {
 public:
  DealtStream(std::string_view seed, Dealt purpose, std::int64_t index, std::int64_t part = 0);
  void fill(std::span<std::uint32_t> words);
  void fill(std::span<std::uint64_t> words);

 private:
  void fill(unsigned char* bytes, std::size_t count);
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };
  std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
};

// The seed of a party, from the dealer's.
std::string dealt_seed(std::string_view of_dealer, int party);

// Uniform words of a ring for one value: it cannot be copied, and the gate uses it up.
template <RingWord Word>
class DealtMask {
 public:
  DealtMask(const DealtMask&) = delete;
  DealtMask& operator=(const DealtMask&) = delete;
  DealtMask(DealtMask&&) noexcept = default;
  DealtMask& operator=(DealtMask&&) noexcept = default;
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  friend class DealtMasks;
  friend class Gate;
  DealtMask(Dealt purpose, std::vector<Word> words) : purpose_(purpose), words_(std::move(words)) {}
  Dealt purpose_;
  std::vector<Word> words_;
};

template <RingWord Word>
class UnderMask {
 public:
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  friend class Gate;
  explicit UnderMask(std::vector<Word> words) : words_(std::move(words)) {}
  std::vector<Word> words_;
};

// The noise that a sum of shares leaves with: `contributors` add theirs, the parties and the dealer, and without any
// one of them there is the deviation `multiplier` times the sensitivity of the sum.
struct SharedNoise {
  double multiplier = 0;
  int contributors = 0;
};

// Where masked values leave: to one other party, who alone can read them.
class PeerSeal {
 public:
  PeerSeal() = default;
  PeerSeal(const PeerSeal&) = delete;
  PeerSeal& operator=(const PeerSeal&) = delete;
  virtual ~PeerSeal() = default;
  virtual Result<std::string> seal(std::string_view content) = 0;
};

// The masks of one party in one run. Each purpose has a counter of indices that only rises: a mask is made once, and
// skip_to() carries that over a restart.
class DealtMasks {
 public:
  static Result<DealtMasks> make(std::string seed);

  // To the value that is masked: `bits` of the ring (a margin's words are narrower than a Word).
  template <RingWord Word>
  Result<DealtMask<Word>> mask(Dealt purpose, std::int64_t index, std::size_t size, int bits);
  // A column of A_k, once, in order; the matrix has one index for all.
  template <RingWord Word>
  Result<DealtMask<Word>> column(std::int64_t column, std::size_t size);
  // A share of c, whose words the party may not make itself: it has what the dealer sent.
  template <RingWord Word>
  Result<DealtMask<Word>> share(std::int64_t index, std::vector<Word> words);

  // What the party computes with, for nobody else: of an index whose mask was used.
  template <RingWord Word>
  Result<std::vector<Word>> known(Dealt purpose, std::int64_t index, std::size_t size, std::int64_t part = 0) const;

  // The first index of each purpose that was not used: to be kept with every answer.
  [[nodiscard]] const std::vector<std::int64_t>& marks() const { return first_unused_; }
  void skip_to(std::span<const std::int64_t> marks);

 private:
  explicit DealtMasks(std::string seed) : seed_(std::move(seed)) {}
  Result<void> use(Dealt purpose, std::int64_t index);
  std::string seed_;
  std::vector<std::int64_t> first_unused_ = std::vector<std::int64_t>(8);
};

// Words of b bits as whole bytes, least first; b is a multiple of 8, at most that of a Word.
template <RingWord Word>
std::string packed(std::span<const Word> words, int bits);
template <RingWord Word>
Result<std::vector<Word>> unpacked(std::string_view bytes, std::size_t count, int bits);

// The number in [-2^(b-1), 2^(b-1)) that a word of Z/2^b stands for.
template <RingWord Word>
std::int64_t centred(Word word, int bits) {
  const int shift = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(word) << shift) >> shift;
}

}  // namespace parley::privacy
