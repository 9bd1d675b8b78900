#include "parley/secure/revoked.h"

#include <algorithm>

#include "parley/secure/openssl.h"

namespace parley::secure {

namespace {

using List = Owned<X509_CRL, X509_CRL_free>;
using Entry = Owned<X509_REVOKED, X509_REVOKED_free>;
using Time = Owned<ASN1_TIME, ASN1_TIME_free>;

List list_in(const std::string& pem) {
  return List(PEM_read_bio_X509_CRL(text_of(pem).get(), nullptr, nullptr, nullptr));
}

bool contains(X509_CRL& list, X509& certificate) {
  X509_REVOKED* found = nullptr;
  return X509_CRL_get0_by_cert(&list, &found, &certificate) != 0;
}

Result<void> add(X509_CRL& list, X509& certificate, const ASN1_TIME& now) {
  Entry entry(X509_REVOKED_new());
  if (entry == nullptr || X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(&certificate)) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), const_cast<ASN1_TIME*>(&now)) != 1 ||
      X509_CRL_add0_revoked(&list, entry.get()) != 1)
    return fail(broken("the list could not be made"));
  static_cast<void>(entry.release());  // the list's
  return {};
}

}  // namespace

Result<std::string> revoke(const KeyPair& authority, const std::string& list,
                           const std::vector<std::string>& certificates) {
  const Certificate issuer = certificate_in(authority.certificate);
  const Key signer = key_in(authority.key);
  if (issuer == nullptr || signer == nullptr || X509_check_private_key(issuer.get(), signer.get()) != 1)
    return fail(bad_input({.field = "authority"}, "certificate and key do not belong together, or are not PEM"));
  if (!list.empty()) PARLEY_CHECK(check_list(authority.certificate, list));
  const List made = list.empty() ? List(X509_CRL_new()) : list_in(list);
  const Time now(X509_gmtime_adj(nullptr, 0));
  constexpr long kVersion2 = 1;
  if (made == nullptr || now == nullptr || X509_CRL_set_version(made.get(), kVersion2) != 1 ||
      X509_CRL_set_issuer_name(made.get(), X509_get_subject_name(issuer.get())) != 1 ||
      X509_CRL_set1_lastUpdate(made.get(), now.get()) != 1 ||
      X509_CRL_set1_nextUpdate(made.get(), X509_get0_notAfter(issuer.get())) != 1)
    return fail(broken("the list could not be made"));
  for (const std::string& pem : certificates) {
    const Certificate certificate = certificate_in(pem);
    if (certificate == nullptr || X509_verify(certificate.get(), X509_get0_pubkey(issuer.get())) != 1) {
      ERR_clear_error();
      return fail(bad_input({.field = "certificate"}, "is not one of this authority's"));
    }
    if (!contains(*made, *certificate)) PARLEY_CHECK(add(*made, *certificate, *now));
  }
  if (X509_CRL_sort(made.get()) != 1 || X509_CRL_sign(made.get(), signer.get(), EVP_sha256()) == 0)
    return fail(broken("the list could not be signed"));
  return to_pem([&](BIO* out) { return PEM_write_bio_X509_CRL(out, made.get()); });
}

Result<void> check_list(const std::string& authority, const std::string& list) {
  const List read = list_in(list);
  const Memory roots = text_of(authority);
  bool good = false;
  while (const Certificate root = next_certificate(roots))
    good = good || (read != nullptr && X509_CRL_verify(read.get(), X509_get0_pubkey(root.get())) == 1);
  ERR_clear_error();
  if (!good) return fail(bad_input({.field = "list"}, "is not a list that the authority in ca.pem signed"));
  return {};
}

bool is_revoked(const std::string& list, const std::string& certificate) {
  if (list.empty()) return false;
  const List read = list_in(list);
  const Certificate shown = certificate_in(certificate);
  const bool revoked = read == nullptr || shown == nullptr || contains(*read, *shown);
  ERR_clear_error();
  return revoked;
}

std::vector<std::string> each_certificate(const std::string& text) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  std::vector<std::string> all;
  for (std::size_t at = text.find(kBegin); at != std::string::npos;) {
    const std::size_t next = text.find(kBegin, at + 1);
    all.push_back(text.substr(at, next - at));
    at = next;
  }
  return all;
}

}  // namespace parley::secure
