// OpenSSL's objects, each freed by its own function, and the readings and writings of PEM text that several files do. Internal to secure.
#pragma once
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "parley/core/result.h"

namespace parley::secure {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* value) const {
    free(value);
  }
};
template <class T, auto free>
using Owned = std::unique_ptr<T, Free<free>>;

using Context = Owned<SSL_CTX, SSL_CTX_free>;
using Session = Owned<SSL, SSL_free>;
using Certificate = Owned<X509, X509_free>;
using Extension = Owned<X509_EXTENSION, X509_EXTENSION_free>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Number = Owned<BIGNUM, BN_free>;
using Memory = Owned<BIO, BIO_free_all>;

inline Memory text_of(const std::string& pem) {
  return Memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// The next one of a text that may hold several; null at its end.
inline Certificate next_certificate(const Memory& text) {
  return Certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
}

inline Certificate certificate_in(const std::string& pem) {
  return next_certificate(text_of(pem));
}

// Asks nobody for a passphrase.
inline Key key_in(const std::string& pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  return Key(PEM_read_bio_PrivateKey(text_of(pem).get(), nullptr, no_passphrase, nullptr));
}

inline Error broken(const char* what) {
  char why[256] = "";
  ERR_error_string_n(ERR_get_error(), why, sizeof why);
  return failed(fmt::format("{}: {}", what, why));
}

template <class Write>
Result<std::string> to_pem(const Write& write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return fail(broken("PEM could not be written"));
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

inline std::string day(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown day";
  return fmt::format("{:%Y-%m-%d}", parts);
}

}  // namespace parley::secure
