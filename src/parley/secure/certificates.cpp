#include "parley/secure/certificates.h"

#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <string_view>
#include <vector>

#include "parley/core/party_name.h"
#include "parley/secure/openssl.h"
#include "parley/secure/seal.h"

namespace parley::secure {

namespace {

constexpr std::string_view kDialled = kCoordinatorName;  // the one who is dialled; everyone else dials

void free_list(STACK_OF(X509) * certificates) {
  sk_X509_free(certificates);
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

Result<std::string> signed_certificate(X509& certificate, EVP_PKEY& signer) {
  if (X509_sign(&certificate, &signer, EVP_sha256()) == 0) return fail(broken("a certificate could not be signed"));
  return to_pem([&](BIO* out) { return PEM_write_bio_X509(out, &certificate); });
}

Result<std::string> pem_of(EVP_PKEY& key) {
  return to_pem([&](BIO* out) { return PEM_write_bio_PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr); });
}

// SHA-256 of the public key as it stands in certificates and requests.
Result<std::string> fingerprint_of(const EVP_PKEY& key) {
  unsigned char* encoded = nullptr;
  const int size = i2d_PUBKEY(&key, &encoded);
  if (size <= 0) return fail(broken("a key could not be read"));
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(encoded, static_cast<std::size_t>(size), reinterpret_cast<unsigned char*>(digest.data()));
  OPENSSL_free(encoded);
  return text_of_key(digest);
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
  KeyPair pair;
  PARLEY_TRY(pair.certificate, signed_certificate(*certificate, *key));
  PARLEY_TRY(pair.key, pem_of(*key));
  return pair;
}

namespace {

struct Authority {
  Certificate certificate;
  Key key;
};

Result<Authority> authority_in(const KeyPair& pair) {
  Authority authority{certificate_in(pair.certificate), key_in(pair.key)};
  if (authority.certificate == nullptr || authority.key == nullptr ||
      X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1)
    return fail(bad_input({.field = "authority"}, "certificate and key do not belong together, or are not PEM"));
  return authority;
}

// The certificate of whoever has the private half of `key`.
Result<Issued> issued_to(const KeyPair& pair, const std::string& name, EVP_PKEY& key, Validity validity) {
  PARLEY_CHECK(check_name(name));
  PARLEY_TRY(const Authority authority, authority_in(pair));
  X509& issuer = *authority.certificate;
  const ASN1_TIME* const end = X509_get0_notAfter(&issuer);
  if (X509_cmp_current_time(end) < 0)
    return fail(bad_input({.field = "authority"},
                          "expired on " + day(end) + "; parley keys init makes another authority, for everyone"));
  PARLEY_TRY(const Certificate certificate, unsigned_certificate(name, key, validity));
  Issued issued;
  if (ASN1_TIME_compare(X509_get0_notAfter(certificate.get()), end) > 0) issued.clipped = day(end);
  if (issued.clipped && X509_set1_notAfter(certificate.get(), end) != 1)
    return fail(broken("a certificate could not be made"));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(&issuer)) != 1)
    return fail(broken("a certificate could not be made"));
  PARLEY_CHECK(add_extension(*certificate, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  PARLEY_CHECK(add_extension(*certificate, issuer, NID_key_usage, "critical,digitalSignature"));
  PARLEY_CHECK(add_extension(*certificate, issuer, NID_ext_key_usage, name == kDialled ? "serverAuth" : "clientAuth"));
  PARLEY_CHECK(add_extension(*certificate, issuer, NID_subject_alt_name, "DNS:" + name));
  PARLEY_CHECK(add_extension(*certificate, issuer, NID_authority_key_identifier, "keyid"));
  PARLEY_TRY(issued.certificate, signed_certificate(*certificate, *authority.key));
  return issued;
}

Result<Key> fresh_key() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return fail(broken("a key could not be made"));
  return key;
}

using Request = Owned<X509_REQ, X509_REQ_free>;

Request request_in(const std::string& pem) {
  return Request(PEM_read_bio_X509_REQ(text_of(pem).get(), nullptr, nullptr, nullptr));
}

}  // namespace

Result<Issued> issue(const KeyPair& authority, const std::string& name, Validity validity) {
  PARLEY_CHECK(check_name(name));
  PARLEY_TRY(const Key key, fresh_key());
  PARLEY_TRY(Issued issued, issued_to(authority, name, *key, validity));
  PARLEY_TRY(issued.key, pem_of(*key));
  return issued;
}

Result<std::string> make_key() {
  PARLEY_TRY(const Key key, fresh_key());
  return pem_of(*key);
}

Result<std::string> make_request(const std::string& name, const std::string& own_key) {
  PARLEY_CHECK(check_name(name));
  const Key key = key_in(own_key);
  if (key == nullptr) return fail(bad_input({.field = "key"}, "is not a key (PEM without a passphrase)"));
  const Request request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_version(request.get(), 0) != 1 ||
      X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()), -1,
                                 0) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 || X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0)
    return fail(broken("a request could not be made"));
  return to_pem([&](BIO* out) { return PEM_write_bio_X509_REQ(out, request.get()); });
}

Result<Requested> read_request(const std::string& pem) {
  const Request request = request_in(pem);
  EVP_PKEY* const key = request == nullptr ? nullptr : X509_REQ_get0_pubkey(request.get());
  if (key == nullptr) return fail(bad_input({.field = "request"}, "is not a certificate request (PEM)"));
  if (X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return fail(bad_input({.field = "request"}, "is not signed by the key that it is about"));
  }
  char curve[64] = "";
  std::size_t size = 0;
  if (EVP_PKEY_get_group_name(key, curve, sizeof curve, &size) != 1 || std::string_view(curve) != "prime256v1") {
    ERR_clear_error();
    return fail(
        bad_input({.field = "request"}, "is not about a key on the curve P-256, as parley keys request makes it"));
  }
  X509_NAME* const subject = X509_REQ_get_subject_name(request.get());
  char name[256] = "";
  X509_NAME_get_text_by_NID(subject, NID_commonName, name, sizeof name);
  if (X509_NAME_entry_count(subject) != 1)
    return fail(bad_input({.field = "request"}, "has another subject than a name"));
  PARLEY_CHECK(check_name(name));
  PARLEY_TRY(std::string fingerprint, fingerprint_of(*key));
  return Requested{name, std::move(fingerprint)};
}

Result<Issued> sign_request(const KeyPair& authority, const std::string& pem, Validity validity) {
  PARLEY_TRY(const Requested wish, read_request(pem));
  const Request request = request_in(pem);
  return issued_to(authority, wish.name, *X509_REQ_get0_pubkey(request.get()), validity);
}

Result<About> about(const std::string& pem) {
  const Certificate certificate = certificate_in(pem);
  EVP_PKEY* const key = certificate == nullptr ? nullptr : X509_get0_pubkey(certificate.get());
  std::tm end{};
  if (key == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return fail(bad_input({.field = "certificate"}, "is not a certificate (PEM)"));
  PARLEY_TRY(std::string fingerprint, fingerprint_of(*key));
  return About{common_name(*certificate), std::move(fingerprint), ::timegm(&end),
               day(X509_get0_notAfter(certificate.get()))};
}

}  // namespace parley::secure
