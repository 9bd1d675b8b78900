#include "parley/secure/certificates.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <string_view>
#include <vector>

#include "parley/core/party_name.h"
#include "parley/secure/openssl.h"

namespace parley::secure {

namespace {

constexpr std::string_view kDialled = kCoordinatorName;  // the one who is dialled; everyone else dials

void free_list(STACK_OF(X509) * certificates) {
  sk_X509_free(certificates);
}

Error broken(const char* what) {
  char why[256] = "";
  ERR_error_string_n(ERR_get_error(), why, sizeof why);
  return failed(fmt::format("{}: {}", what, why));
}

template <class Write>
Result<std::string> to_pem(const Write& write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return fail(broken("a certificate could not be written"));
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<void> add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (extension == nullptr || X509_add_ext(&certificate, extension.get(), -1) != 1)
    return fail(broken("a certificate could not be made"));
  return {};
}

// 128 random bits, positive.
bool give_serial(X509& certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  const Number number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  return number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_name(X509& certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()),
                                    -1, 0) == 1;
}

// A certificate for `name` and a fresh key, not yet signed.
Result<Certificate> unsigned_certificate(const std::string& name, EVP_PKEY& key, Validity validity) {
  Certificate certificate(X509_new());
  constexpr long kVersion3 = 2;
  constexpr long kAnHourAgo = -3600;  // clocks of sites differ
  if (certificate == nullptr || X509_set_version(certificate.get(), kVersion3) != 1 || !give_serial(*certificate) ||
      !set_name(*certificate, name) || X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kAnHourAgo) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(certificate.get()), validity.days, 0, nullptr) == nullptr ||
      X509_set_pubkey(certificate.get(), &key) != 1)
    return fail(broken("a certificate could not be made"));
  return certificate;
}

Result<KeyPair> signed_pair(X509& certificate, EVP_PKEY& own, EVP_PKEY& signer) {
  if (X509_sign(&certificate, &signer, EVP_sha256()) == 0) return fail(broken("a certificate could not be signed"));
  KeyPair pair;
  PARLEY_TRY(pair.certificate, to_pem([&](BIO* out) { return PEM_write_bio_X509(out, &certificate); }));
  PARLEY_TRY(pair.key, to_pem([&](BIO* out) {
               return PEM_write_bio_PrivateKey(out, &own, nullptr, nullptr, 0, nullptr, nullptr);
             }));
  return pair;
}

Result<void> check_name(const std::string& name) {
  if (const std::string_view flaw = flaw_of_member_name(name); !flaw.empty())
    return fail(bad_input({.field = "name"}, flaw, name));
  return {};
}

std::vector<Certificate> certificates_in(const std::string& pem) {
  const Memory text = text_of(pem);
  std::vector<Certificate> all;
  while (Certificate next = next_certificate(text)) all.push_back(std::move(next));
  ERR_clear_error();  // the end of the text is an error of OpenSSL's
  return all;
}

std::string common_name(const X509& certificate) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(&certificate), NID_commonName, name, sizeof name);
  return name;
}

std::string day(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown day";
  return fmt::format("{:%Y-%m-%d}", parts);
}

// What OpenSSL found wrong with a chain, in the certificate that it names.
Flaw flaw_in_chain(X509_STORE_CTX& check) {
  const Flaw::In in = X509_STORE_CTX_get_error_depth(&check) == 0 ? Flaw::In::kCertificate : Flaw::In::kAuthority;
  const X509* found = X509_STORE_CTX_get_current_cert(&check);
  const std::string remedy = in == Flaw::In::kAuthority ? "; parley keys init makes another authority, for everyone"
                                                        : "; parley keys issue makes another";
  switch (const int error = X509_STORE_CTX_get_error(&check)) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return {in, "expired on " + day(X509_get0_notAfter(found)) + remedy};
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return {in, "is not valid before " + day(X509_get0_notBefore(found)) + "; is the clock of this machine right?"};
    case X509_V_ERR_INVALID_PURPOSE:
      return {in, "is made for the other side of a connection" + remedy};
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return {Flaw::In::kCertificate, "is not from the authority in ca.pem; both must be from one parley keys init"};
    default:
      return {in, fmt::format("is not trusted: {}", X509_verify_cert_error_string(error))};
  }
}

}  // namespace

std::optional<Flaw> flaw_of(const std::string& authority, const KeyPair& own, const std::string& name,
                            std::time_t now) {
  const std::vector<Certificate> roots = certificates_in(authority);
  const std::vector<Certificate> chain = certificates_in(own.certificate);
  const Key key = key_in(own.key);
  if (roots.empty()) return Flaw{Flaw::In::kAuthority, "is not a certificate (PEM)"};
  if (chain.empty()) return Flaw{Flaw::In::kCertificate, "is not a certificate (PEM)"};
  if (key == nullptr) return Flaw{Flaw::In::kKey, "is not a key (PEM without a passphrase)"};
  X509& leaf = *chain.front();
  if (X509_check_private_key(&leaf, key.get()) != 1) {
    ERR_clear_error();
    return Flaw{Flaw::In::kKey, "is not the key of the certificate beside it"};
  }
  if (const std::string other = common_name(leaf); other != name)
    return Flaw{Flaw::In::kCertificate, fmt::format("is the certificate of '{}', not of '{}'", other, name)};

  const Owned<X509_STORE, X509_STORE_free> store(X509_STORE_new());
  const Owned<X509_STORE_CTX, X509_STORE_CTX_free> check(X509_STORE_CTX_new());
  const Owned<STACK_OF(X509), free_list> between(sk_X509_new_null());
  bool good = store != nullptr && check != nullptr && between != nullptr;
  for (const Certificate& root : roots) good = good && X509_STORE_add_cert(store.get(), root.get()) == 1;
  for (std::size_t c = 1; c < chain.size(); ++c) good = good && sk_X509_push(between.get(), chain[c].get()) > 0;
  if (!good || X509_STORE_CTX_init(check.get(), store.get(), &leaf, between.get()) != 1)
    return Flaw{Flaw::In::kCertificate, "cannot be checked"};
  X509_STORE_CTX_set_time(check.get(), 0, now);
  X509_STORE_CTX_set_purpose(check.get(), name == kDialled ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(check.get()) == 1) return std::nullopt;
  return flaw_in_chain(*check);
}

Result<KeyPair> make_authority(const std::string& federation, Validity validity) {
  PARLEY_CHECK(check_name(federation));
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return fail(broken("a key could not be made"));
  PARLEY_TRY(const Certificate certificate, unsigned_certificate(federation, *key, validity));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) != 1)
    return fail(broken("a certificate could not be made"));
  PARLEY_CHECK(add_extension(*certificate, *certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  PARLEY_CHECK(add_extension(*certificate, *certificate, NID_key_usage, "critical,keyCertSign,cRLSign"));
  PARLEY_CHECK(add_extension(*certificate, *certificate, NID_subject_key_identifier, "hash"));
  return signed_pair(*certificate, *key, *key);
}

Result<Issued> issue(const KeyPair& authority, const std::string& name, Validity validity) {
  PARLEY_CHECK(check_name(name));
  const Certificate issuer = certificate_in(authority.certificate);
  const Key signer(PEM_read_bio_PrivateKey(text_of(authority.key).get(), nullptr, nullptr, nullptr));
  if (issuer == nullptr || signer == nullptr || X509_check_private_key(issuer.get(), signer.get()) != 1)
    return fail(bad_input({.field = "authority"}, "certificate and key do not belong together, or are not PEM"));
  const ASN1_TIME* const end = X509_get0_notAfter(issuer.get());
  if (X509_cmp_current_time(end) < 0)
    return fail(bad_input({.field = "authority"},
                          "expired on " + day(end) + "; parley keys init makes another authority, for everyone"));
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return fail(broken("a key could not be made"));
  PARLEY_TRY(const Certificate certificate, unsigned_certificate(name, *key, validity));
  Issued issued;
  if (ASN1_TIME_compare(X509_get0_notAfter(certificate.get()), end) > 0) issued.clipped = day(end);
  if (issued.clipped && X509_set1_notAfter(certificate.get(), end) != 1)
    return fail(broken("a certificate could not be made"));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) != 1)
    return fail(broken("a certificate could not be made"));
  PARLEY_CHECK(add_extension(*certificate, *issuer, NID_basic_constraints, "critical,CA:FALSE"));
  PARLEY_CHECK(add_extension(*certificate, *issuer, NID_key_usage, "critical,digitalSignature"));
  PARLEY_CHECK(add_extension(*certificate, *issuer, NID_ext_key_usage, name == kDialled ? "serverAuth" : "clientAuth"));
  PARLEY_CHECK(add_extension(*certificate, *issuer, NID_subject_alt_name, "DNS:" + name));
  PARLEY_CHECK(add_extension(*certificate, *issuer, NID_authority_key_identifier, "keyid"));
  PARLEY_TRY(static_cast<KeyPair&>(issued), signed_pair(*certificate, *key, *signer));
  return issued;
}

}  // namespace parley::secure
