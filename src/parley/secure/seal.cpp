#include "parley/secure/seal.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "parley/core/text.h"
#include "parley/secure/openssl.h"

namespace parley::secure {

namespace {

using KeyUse = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using Signing = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using Cipher = Owned<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;

constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kTagBytes = kSealBytes - kKeyBytes;
static_assert(kHelloBytes == 2 * kKeyBytes + kSignatureBytes);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_in(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

// Parts of fixed length, but for the last.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

std::string digest(std::string_view text) {
  std::string made(SHA256_DIGEST_LENGTH, '\0');
  SHA256(bytes_of(text), text.size(), bytes_in(made));
  return made;
}

Error no_cipher() {
  return failed("the cipher of the seals failed; nothing was sent");
}
Error refused() {
  return bad_input({.field = "seal"}, "is not what the peer sealed for this run, round and step, or came before");
}

Result<Secret> drawn_secret() {
  std::array<char, kKeyBytes> bytes{};
  const bool good = RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()) == 1;
  Secret secret(std::string_view(bytes.data(), bytes.size()));
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (!good) return fail(failed("the system's source of randomness failed; no key was made"));
  return secret;
}

Key private_key(int kind, const Secret& secret) {
  return Key(EVP_PKEY_new_raw_private_key(kind, nullptr, bytes_of(secret.bytes()), kKeyBytes));
}

Result<std::string> public_half(int kind, const Secret& secret) {
  const Key key = private_key(kind, secret);
  std::string made(kKeyBytes, '\0');
  std::size_t size = made.size();
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key.get(), bytes_in(made), &size) != 1 || size != kKeyBytes)
    return fail(failed("a key could not be made"));
  return made;
}

// RFC 5869 for 32 bytes: one block.
Result<Secret> derived_key(std::string_view from, std::string_view salt, std::string_view info) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> drawn{}, made{};
  unsigned size = 0;
  const std::string block = joined({info, std::string_view("\1", 1)});
  const bool good = HMAC(EVP_sha256(), salt.data(), static_cast<int>(salt.size()), bytes_of(from), from.size(),
                         drawn.data(), &size) != nullptr &&
                    HMAC(EVP_sha256(), drawn.data(), static_cast<int>(drawn.size()), bytes_of(block), block.size(),
                         made.data(), &size) != nullptr;
  Secret key(std::string_view(reinterpret_cast<const char*>(made.data()), made.size()));
  OPENSSL_cleanse(drawn.data(), drawn.size());
  OPENSSL_cleanse(made.data(), made.size());
  if (!good) return fail(no_cipher());
  return key;
}

Result<Secret> agreed_secret(const RunKey& own, std::string_view theirs) {
  const Secret secret(own.secret());
  const Key key = private_key(EVP_PKEY_X25519, secret);
  const Key peer(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(theirs), theirs.size()));
  const KeyUse use(key == nullptr ? nullptr : EVP_PKEY_CTX_new(key.get(), nullptr));
  std::array<unsigned char, kKeyBytes> shared{};
  std::size_t size = shared.size();
  // Fails for keys of small order.
  const bool good = peer != nullptr && use != nullptr && EVP_PKEY_derive_init(use.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(use.get(), peer.get()) == 1 &&
                    EVP_PKEY_derive(use.get(), shared.data(), &size) == 1 && size == kKeyBytes;
  Secret made(std::string_view(reinterpret_cast<const char*>(shared.data()), shared.size()));
  OPENSSL_cleanse(shared.data(), shared.size());
  if (!good) return fail(bad_input({.field = "hello"}, "holds a key that makes no shared secret"));
  return made;
}

std::string signed_part(std::string_view identity, std::string_view key, std::string_view run) {
  return joined({"parley hello 1", identity, key, run});
}

std::string associated(std::string_view run, std::string_view from, std::string_view to, SealAt at) {
  std::array<char, sizeof at.round> round{};
  std::array<char, sizeof at.step> step{};
  std::memcpy(round.data(), &at.round, sizeof at.round);
  std::memcpy(step.data(), &at.step, sizeof at.step);
  return joined({"parley seal 1", run, from, to, {round.data(), round.size()}, {step.data(), step.size()}});
}

constexpr std::size_t kAtOnce = std::size_t{1} << 26;  // OpenSSL counts in int

// EVP_EncryptUpdate or EVP_DecryptUpdate over any size.
template <class Update>
bool pass(EVP_CIPHER_CTX* cipher, Update update, unsigned char* to, std::string_view from) {
  for (std::size_t done = 0; done < from.size();) {
    const int size = static_cast<int>(std::min(from.size() - done, kAtOnce));
    int written = 0;
    if (update(cipher, to + done, &written, bytes_of(from) + done, size) != 1 || written != size) return false;
    done += static_cast<std::size_t>(size);
  }
  return true;
}

constexpr std::array<unsigned char, 12> kNonce{};  // of a key that encrypts once

}  // namespace

Secret::Secret(std::string_view bytes) {
  std::memcpy(bytes_.data(), bytes.data(), std::min(bytes.size(), bytes_.size()));
}
Secret::Secret(Secret&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}
Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}
Secret::~Secret() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<Identity> Identity::of(Secret seed) {
  PARLEY_TRY(std::string public_key, public_half(EVP_PKEY_ED25519, seed));
  return Identity(std::move(seed), std::move(public_key));
}

Result<Identity> Identity::make() {
  PARLEY_TRY(Secret seed, drawn_secret());
  return of(std::move(seed));
}

Result<Identity> Identity::read(const std::string& pem) {
  const Key key = key_in(pem);
  std::array<unsigned char, kKeyBytes> raw{};
  std::size_t size = raw.size();
  if (key == nullptr || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(key.get(), raw.data(), &size) != 1 || size != kKeyBytes)
    return fail(bad_input({.field = "identity"}, "is not an Ed25519 key (PEM without a passphrase)"));
  Secret seed(std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size()));
  OPENSSL_cleanse(raw.data(), raw.size());
  return of(std::move(seed));
}

Result<std::string> Identity::pem() const {
  const Key key = private_key(EVP_PKEY_ED25519, seed_);
  if (key == nullptr) return fail(failed("a key could not be written"));
  return to_pem(
      [&](BIO* out) { return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

Result<std::string> Identity::sign(std::string_view what) const {
  const Key key = private_key(EVP_PKEY_ED25519, seed_);
  const Signing signing(EVP_MD_CTX_new());
  std::string made(kSignatureBytes, '\0');
  std::size_t size = made.size();
  if (key == nullptr || signing == nullptr ||
      EVP_DigestSignInit(signing.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(signing.get(), bytes_in(made), &size, bytes_of(what), what.size()) != 1 || size != made.size())
    return fail(failed("a signature could not be made"));
  return made;
}

bool signed_by(std::string_view public_key, std::string_view what, std::string_view signature) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(public_key), public_key.size()));
  const Signing checking(EVP_MD_CTX_new());
  return key != nullptr && checking != nullptr &&
         EVP_DigestVerifyInit(checking.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(checking.get(), bytes_of(signature), signature.size(), bytes_of(what), what.size()) == 1;
}

std::string text_of_key(std::string_view public_key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : public_key) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<std::string> key_of_text(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  const bool good =
      text.size() == 2 * kKeyBytes && std::all_of(text.begin(), text.end(), [&](char c) { return digit(c) >= 0; });
  if (!good)
    return fail(bad_input({.field = "key"}, "must be 64 hexadecimal digits, as parley keys fingerprint prints them",
                          printable(text)));
  std::string key(kKeyBytes, '\0');
  for (std::size_t at = 0; at < key.size(); ++at)
    key[at] = static_cast<char>(digit(text[2 * at]) * 16 + digit(text[2 * at + 1]));
  return key;
}

Result<RunKey> RunKey::make() {
  PARLEY_TRY(const Secret secret, drawn_secret());
  return of(secret.bytes());
}

Result<RunKey> RunKey::of(std::string_view bytes) {
  if (bytes.size() != kKeyBytes) return fail(bad_input({.field = "run key"}, "must be 32 bytes"));
  Secret secret(bytes);
  PARLEY_TRY(std::string public_key, public_half(EVP_PKEY_X25519, secret));
  return RunKey(std::move(secret), std::move(public_key));
}

Result<std::string> hello_of(const Identity& own, const RunKey& key, std::string_view run) {
  PARLEY_TRY(const std::string signature, own.sign(signed_part(own.public_key(), key.public_key(), run)));
  return joined({own.public_key(), key.public_key(), signature});
}

Result<Hello> read_hello(std::string_view hello, std::string_view pinned, std::string_view run) {
  if (hello.size() != kHelloBytes) return fail(bad_input({.field = "hello"}, "is not one"));
  Hello read{std::string(hello.substr(0, kKeyBytes)), std::string(hello.substr(kKeyBytes, kKeyBytes))};
  if (!pinned.empty() && read.identity != pinned)
    return fail(bad_input({.field = "hello"}, "is of another key than the pinned one", text_of_key(read.identity)));
  if (!signed_by(read.identity, signed_part(read.identity, read.key, run), hello.substr(2 * kKeyBytes)))
    return fail(bad_input({.field = "hello"}, "is not signed by its identity for this run"));
  return read;
}

Result<Seal> Seal::agree(const Oneself& self, const Peer& peer) {
  PARLEY_TRY(const Hello theirs, read_hello(peer.hello, peer.pinned, self.run));
  const std::string& own = self.own.public_key();
  if (theirs.identity == own || theirs.key == self.key.public_key())
    return fail(bad_input({.field = "hello"}, "is this site's own"));
  PARLEY_TRY(const Secret shared, agreed_secret(self.key, theirs.key));
  Seal made;
  made.own_ = own;
  made.peer_ = theirs.identity;
  made.run_ = digest(joined({"parley seal run 1", self.run}));
  const bool lower = own < theirs.identity;
  const std::string agreed = digest(joined({"parley seal keys 1", made.run_, lower ? own : theirs.identity,
                                            lower ? self.key.public_key() : theirs.key, lower ? theirs.identity : own,
                                            lower ? theirs.key : self.key.public_key()}));
  PARLEY_TRY(made.sends_, derived_key(shared.bytes(), agreed, joined({"parley seal way 1", own, theirs.identity})));
  PARLEY_TRY(made.receives_, derived_key(shared.bytes(), agreed, joined({"parley seal way 1", theirs.identity, own})));
  return made;
}

void Seal::skip_to(const Marks& marks) {
  marks_.sealed = std::max(marks_.sealed, marks.sealed);
  marks_.opened = std::max(marks_.opened, marks.opened);
}

Result<std::string> Seal::seal(std::string_view content, SealAt at) {
  if (at.round < 0 || at <= marks_.sealed)
    return fail(bad_input({.field = "seal"}, "a place in a run is sealed for once, and places ascend"));
  const std::string about = associated(run_, own_, peer_, at);
  std::string made(kKeyBytes + content.size() + kTagBytes, '\0');
  if (RAND_bytes(bytes_in(made), kKeyBytes) != 1) return fail(no_cipher());
  PARLEY_TRY(const Secret key, derived_key(sends_.bytes(), std::string_view(made).substr(0, kKeyBytes), about));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  unsigned char* const body = bytes_in(made) + kKeyBytes;
  unsigned char* const end = body + content.size();
  if (cipher == nullptr ||
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.bytes()), kNonce.data()) != 1 ||
      EVP_EncryptUpdate(cipher.get(), nullptr, &written, bytes_of(about), static_cast<int>(about.size())) != 1 ||
      !pass(cipher.get(), EVP_EncryptUpdate, body, content) || EVP_EncryptFinal_ex(cipher.get(), end, &written) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, end) != 1)
    return fail(no_cipher());
  marks_.sealed = at;
  return made;
}

Result<std::string> Seal::open(std::string_view sealed, SealAt at) {
  if (at.round < 0 || at <= marks_.opened || sealed.size() < kSealBytes) return fail(refused());
  const std::string about = associated(run_, peer_, own_, at);
  PARLEY_TRY(const Secret key, derived_key(receives_.bytes(), sealed.substr(0, kKeyBytes), about));
  const std::string_view body = sealed.substr(kKeyBytes, sealed.size() - kSealBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes)), content(body.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  unsigned char last = 0;
  if (cipher == nullptr ||
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.bytes()), kNonce.data()) != 1 ||
      EVP_DecryptUpdate(cipher.get(), nullptr, &written, bytes_of(about), static_cast<int>(about.size())) != 1 ||
      !pass(cipher.get(), EVP_DecryptUpdate, bytes_in(content), body) ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) != 1 ||
      EVP_DecryptFinal_ex(cipher.get(), &last, &written) != 1)
    return fail(refused());
  marks_.opened = at;
  return content;
}

}  // namespace parley::secure
