#include "parley/secure/revoked.h"

#include <gtest/gtest.h>

using namespace parley;
using namespace parley::secure;

TEST(Revoked, ACertificateIsTakenBackAndNoOther) {
  const KeyPair authority = *make_authority("study", {});
  const KeyPair clinic = *issue(authority, "clinic", {}), renewed = *issue(authority, "clinic", {});
  const KeyPair lab = *issue(authority, "lab", {});
  const std::string first = *revoke(authority, "", {clinic.certificate});
  EXPECT_TRUE(check_list(authority.certificate, first));
  EXPECT_TRUE(is_revoked(first, clinic.certificate));
  EXPECT_FALSE(is_revoked(first, renewed.certificate));
  EXPECT_FALSE(is_revoked("", clinic.certificate));
  const std::string second = *revoke(authority, first, {lab.certificate, clinic.certificate});
  EXPECT_TRUE(is_revoked(second, clinic.certificate) && is_revoked(second, lab.certificate));
  EXPECT_FALSE(is_revoked(second, renewed.certificate));
}

TEST(Revoked, AListThatTheAuthorityDidNotSignSaysNothing) {
  const KeyPair ours = *make_authority("study", {}), theirs = *make_authority("study", {});
  const KeyPair clinic = *issue(ours, "clinic", {}), stranger = *issue(theirs, "clinic", {});
  const std::string forged = *revoke(theirs, "", {stranger.certificate});
  EXPECT_FALSE(check_list(ours.certificate, forged));
  EXPECT_FALSE(check_list(ours.certificate, "nonsense"));
  EXPECT_FALSE(check_list(ours.certificate, ""));
  EXPECT_FALSE(revoke(ours, forged, {clinic.certificate}));
  EXPECT_FALSE(revoke(ours, "", {stranger.certificate})) << "not this authority's";
  EXPECT_FALSE(revoke({ours.certificate, theirs.key}, "", {clinic.certificate}));
  std::string touched = *revoke(ours, "", {clinic.certificate});
  touched[touched.size() / 2] = touched[touched.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(check_list(ours.certificate, touched));
}

TEST(Revoked, WhatCannotBeReadIsNotBelieved) {
  const KeyPair authority = *make_authority("study", {});
  const std::string list = *revoke(authority, "", {});
  EXPECT_TRUE(is_revoked(list, "nonsense"));
  EXPECT_TRUE(is_revoked("nonsense", authority.certificate));
}

TEST(Revoked, ATextOfSeveralCertificatesIsTakenApart) {
  const KeyPair authority = *make_authority("study", {});
  const std::string one = issue(authority, "one", {})->certificate, two = issue(authority, "two", {})->certificate;
  EXPECT_EQ(each_certificate(one + two), (std::vector<std::string>{one, two}));
  EXPECT_TRUE(each_certificate("").empty());
}

TEST(Requests, AreSignedForTheKeyThatTheyShow) {
  const KeyPair authority = *make_authority("study", {});
  const std::string key = *make_key(), request = *make_request("clinic", key);
  EXPECT_EQ(read_request(request)->name, "clinic");
  const Issued issued = *sign_request(authority, request, {});
  EXPECT_TRUE(issued.key.empty());
  EXPECT_FALSE(flaw_of(authority.certificate, {issued.certificate, key}, "clinic", std::time(nullptr)));
  EXPECT_EQ(about(issued.certificate)->fingerprint, read_request(request)->fingerprint);
  EXPECT_FALSE(make_request("a b", key));
  EXPECT_FALSE(make_request("clinic", "nonsense"));
  EXPECT_FALSE(read_request("nonsense"));
  EXPECT_FALSE(sign_request(authority, issued.certificate, {}));
}
