#include "parley/secure/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

using namespace parley;
using namespace parley::secure;

namespace {

X509* parse(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  return certificate;
}

bool accepted(const std::string& authority, const std::string& pem, int purpose) {
  X509_STORE* store = X509_STORE_new();
  X509* root = parse(authority);
  X509* leaf = parse(pem);
  X509_STORE_add_cert(store, root);
  X509_STORE_CTX* check = X509_STORE_CTX_new();
  X509_STORE_CTX_init(check, store, leaf, nullptr);
  X509_STORE_CTX_set_purpose(check, purpose);
  const bool good = X509_verify_cert(check) == 1;
  X509_STORE_CTX_free(check);
  X509_STORE_free(store);
  X509_free(root);
  X509_free(leaf);
  return good;
}

}  // namespace

TEST(Certificates, APartyMayDialAndTheCoordinatorMayBeDialled) {
  const auto authority = make_authority("study", {});
  ASSERT_TRUE(authority);
  const auto clinic = issue(*authority, "clinic", {});
  const auto coordinator = issue(*authority, "coordinator", {});
  ASSERT_TRUE(clinic && coordinator);
  EXPECT_TRUE(accepted(authority->certificate, clinic->certificate, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(accepted(authority->certificate, clinic->certificate, X509_PURPOSE_SSL_SERVER))
      << "a party cannot pose as the coordinator";
  EXPECT_TRUE(accepted(authority->certificate, coordinator->certificate, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(accepted(authority->certificate, coordinator->certificate, X509_PURPOSE_SSL_CLIENT));
}

TEST(Certificates, AnotherAuthorityIsNotBelieved) {
  const auto ours = make_authority("study", {});
  const auto theirs = make_authority("study", {});
  const auto clinic = issue(*theirs, "clinic", {});
  EXPECT_FALSE(accepted(ours->certificate, clinic->certificate, X509_PURPOSE_SSL_CLIENT));
}

TEST(Certificates, APartyCannotIssueOthers) {
  const auto authority = make_authority("study", {});
  const auto clinic = issue(*authority, "clinic", {});
  const auto forged = issue(*clinic, "insurer", {});
  EXPECT_FALSE(forged && accepted(authority->certificate, forged->certificate, X509_PURPOSE_SSL_CLIENT));
}

TEST(Certificates, NamesAndKeysThatDoNotFitAreRefused) {
  const auto authority = make_authority("study", {});
  for (const char* bad : {"", "a b", "x,DNS:coordinator", "../x", ".hidden", "\xc3\xa9"})
    EXPECT_FALSE(issue(*authority, bad, {})) << bad;
  const auto other = make_authority("other", {});
  EXPECT_FALSE(issue({authority->certificate, other->key}, "clinic", {}));
  EXPECT_FALSE(issue({"nonsense", "nonsense"}, "clinic", {}));
}

namespace {

std::string flaw(const std::string& authority, const KeyPair& own, const std::string& name,
                 std::time_t now = std::time(nullptr)) {
  const auto found = flaw_of(authority, own, name, now);
  if (!found) return "none";
  const char* in = found->in == Flaw::In::kAuthority ? "ca " : found->in == Flaw::In::kKey ? "key " : "";
  return in + found->what;
}
bool begins(const std::string& text, const std::string& with) {
  return text.starts_with(with);
}

}  // namespace

TEST(Certificates, WhatTheOthersWouldNotBelieveIsFoundBeforeAnyoneIsDialled) {
  const KeyPair ours = *make_authority("study", {3650}), theirs = *make_authority("study", {3650});
  const KeyPair clinic = *issue(ours, "clinic", {30}), insurer = *issue(ours, "insurer", {30});
  const KeyPair coordinator = *issue(ours, "coordinator", {30});
  EXPECT_EQ(flaw(ours.certificate, clinic, "clinic"), "none");
  EXPECT_EQ(flaw(ours.certificate, coordinator, "coordinator"), "none");
  EXPECT_EQ(flaw(theirs.certificate + ours.certificate, clinic, "clinic"), "none")
      << "two authorities, while keys change";
  EXPECT_EQ(flaw(theirs.certificate, clinic, "clinic"),
            "is not from the authority in ca.pem; both must be from one parley keys init");
  EXPECT_EQ(flaw(ours.certificate, {clinic.certificate, insurer.key}, "clinic"),
            "key is not the key of the certificate beside it");
  EXPECT_EQ(flaw(ours.certificate, insurer, "clinic"), "is the certificate of 'insurer', not of 'clinic'");
  EXPECT_EQ(flaw("", clinic, "clinic"), "ca is not a certificate (PEM)");
  EXPECT_EQ(flaw(ours.certificate, {"clinic", clinic.key}, "clinic"), "is not a certificate (PEM)");
  EXPECT_EQ(flaw(ours.certificate, {clinic.certificate, clinic.certificate}, "clinic"),
            "key is not a key (PEM without a passphrase)");
  constexpr std::time_t kDay = 86400;
  const std::time_t now = std::time(nullptr);
  EXPECT_TRUE(begins(flaw(ours.certificate, clinic, "clinic", now + 31 * kDay), "expired on 20"));
  EXPECT_TRUE(begins(flaw(ours.certificate, clinic, "clinic", now - kDay), "is not valid before 20") ||
              begins(flaw(ours.certificate, clinic, "clinic", now - kDay), "ca is not valid before 20"));
  const KeyPair longer = *issue(ours, "clinic", {5000});
  EXPECT_TRUE(begins(flaw(ours.certificate, longer, "clinic", now + 3700 * kDay), "ca expired on 20"));
}

TEST(Certificates, NoneOutlivesItsAuthority) {
  const KeyPair authority = *make_authority("study", {100});
  const auto end = [](const std::string& pem) {
    X509* certificate = parse(pem);
    std::tm parts{};
    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts);
    X509_free(certificate);
    return timegm(&parts);
  };
  const Issued shorter = *issue(authority, "clinic", {99}), longer = *issue(authority, "clinic", {101});
  EXPECT_FALSE(shorter.clipped);
  EXPECT_LT(end(shorter.certificate), end(authority.certificate));
  ASSERT_TRUE(longer.clipped);
  EXPECT_EQ(end(longer.certificate), end(authority.certificate));
}

TEST(Certificates, AnAuthorityThatHasEndedIssuesNothing) {
  const KeyPair authority = *make_authority("study", {-1});
  const auto refused = issue(authority, "clinic", {30});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("authority: expired on 20"), std::string::npos) << refused.error().message;
}
