// What two sites send each other so that nobody between them, the coordinator included, can read, change, replay,
// reorder or swap it.
//
//   once, at a site      an identity: an Ed25519 key that the site keeps (mode 0600) and whose public half the other
//                        sites pin in their site files
//   each run, a site i   an X25519 key e_i, used in this run only; its hello, for everybody:
//                          h_i = I_i | E_i | Ed25519(identity of i, domain | run | I_i | E_i)
//   each pair i, j       both check the other's hello against the pinned I and the run; then
//                          s    = X25519(e_i, E_j)                            (keys of small order are refused)
//                          c    = SHA-256(domain | run | the lower I, its E | the higher I, its E)
//                          k_ij = HKDF-SHA-256(s; salt: c; info: domain | I_i | I_j)      for what i sends to j
//   each message         z = 32 fresh random bytes
//                          a = domain | SHA-256(run) | I_i | I_j | round | step
//                          z | AES-256-GCM(key: HKDF-SHA-256(k_ij; salt: z; info: a), nonce: 0, associated data: a)
//
// Every key encrypts one message, so no nonce repeats, not even at a site whose disk was set back. The run, both
// identities, the round and the step are in the associated data: what was sealed for one of them opens for no other.
// Sender and receiver count: in each direction (round, step) must ascend, so a message opens once and in its order.
// The e_i live in memory and in the state of an open run, which is removed when the run closes: who records the
// messages and steals a site's identity later reads nothing (forward secrecy).
//
//   const Identity own = *Identity::read(pem);
//   const RunKey key = *RunKey::make();
//   hello = *hello_of(own, key, run);                                        // to all others, by way of anybody
//   Seal seal = *Seal::agree({.own = own, .key = key, .run = run}, {.pinned = pins[j], .hello = hellos[j]});
//   bytes = *seal.seal(content, {.round = t, .step = kOpening});             // at i
//   content = seal.open(bytes, {.round = t, .step = kOpening});              // at j; an error when it was touched
//
// What is not hidden: who writes to whom, when, and how long the messages are. What the relay can do is not to deliver.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "parley/core/result.h"

namespace parley::secure {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kHelloBytes = 128;
inline constexpr std::size_t kSealBytes = 48;  // by which a sealed message is longer

// 32 bytes that are wiped when they are no longer needed.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view bytes);  // of kKeyBytes
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  [[nodiscard]] std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::array<unsigned char, kKeyBytes> bytes_{};
};

// Who a site is to other sites, for as long as it keeps the key.
class Identity {
 public:
  static Result<Identity> make();
  static Result<Identity> read(const std::string& pem);  // an Ed25519 key, PKCS#8 without a passphrase
  [[nodiscard]] Result<std::string> pem() const;
  [[nodiscard]] const std::string& public_key() const { return public_key_; }  // kKeyBytes
  [[nodiscard]] Result<std::string> sign(std::string_view what) const;         // 64 bytes

 private:
  Identity(Secret seed, std::string public_key) : seed_(std::move(seed)), public_key_(std::move(public_key)) {}
  static Result<Identity> of(Secret seed);
  Secret seed_;
  std::string public_key_;
};
bool signed_by(std::string_view public_key, std::string_view what, std::string_view signature);

// A public key as people compare and pin it: 64 hexadecimal digits.
std::string text_of_key(std::string_view public_key);
Result<std::string> key_of_text(std::string_view text);

// e_i above.
class RunKey {
 public:
  static Result<RunKey> make();
  // The same key again after a restart within the run, from the state that the site kept.
  static Result<RunKey> of(std::string_view secret);
  [[nodiscard]] std::string_view secret() const { return secret_.bytes(); }
  [[nodiscard]] const std::string& public_key() const { return public_key_; }

 private:
  RunKey(Secret secret, std::string public_key) : secret_(std::move(secret)), public_key_(std::move(public_key)) {}
  Secret secret_;
  std::string public_key_;
};

// h_i above. `run`: whatever names the run and what both ends must have been told alike, of any length.
Result<std::string> hello_of(const Identity& own, const RunKey& key, std::string_view run);

// The identity that signed the hello for this run, and the key of the run in it.
struct Hello {
  std::string identity;
  std::string key;
};
// `pinned`: the identity that it must be of; empty: whoever signed it is believed, which a relay can abuse.
Result<Hello> read_hello(std::string_view hello, std::string_view pinned, std::string_view run);
// What a hello says that was read before and kept since: its signature is not looked at again.
Hello kept_hello(std::string_view hello);

struct Oneself {
  const Identity& own;
  const RunKey& key;
  std::string_view run;
};
struct Peer {
  std::string_view pinned;  // as for read_hello
  std::string_view hello;
};

// Where in a run a message belongs. Messages of one sender to one receiver ascend.
struct SealAt {
  std::int64_t round = -1;
  int step = 0;
  auto operator<=>(const SealAt&) const = default;
};

// What one site sends another and gets from it, in one run.
class Seal {
 public:
  static Result<Seal> agree(const Oneself& self, const Peer& peer);
  static Result<Seal> agree(const Oneself& self, const Hello& theirs);  // that read_hello gave

  Result<std::string> seal(std::string_view content, SealAt at);
  // An error, always the same, when it is not what this peer sealed for us at this place of this run.
  Result<std::string> open(std::string_view sealed, SealAt at);

  // The last places that were used, to be kept where a run may go on after a restart, before what was sealed leaves.
  struct Marks {
    SealAt sealed, opened;
  };
  [[nodiscard]] const Marks& marks() const { return marks_; }
  void skip_to(const Marks& marks);  // never back

  [[nodiscard]] const std::string& peer() const { return peer_; }  // its identity

 private:
  Seal() = default;
  Secret sends_, receives_;
  std::string own_, peer_, run_;  // identities; the digest of the run
  Marks marks_;
};

}  // namespace parley::secure
