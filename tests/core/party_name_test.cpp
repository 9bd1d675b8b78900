#include "parley/core/party_name.h"

#include <gtest/gtest.h>

#include <string>

using namespace parley;

TEST(PartyName, IsOneThatAFolderAndACertificateCanHave) {
  for (const char* name : {"clinic", "St.Mary-2", "a", "_x", "north_1", "x..y"})
    EXPECT_EQ(flaw_of_party_name(name), "") << name;
  EXPECT_EQ(flaw_of_party_name(std::string(64, 'x')), "");
  using namespace std::string_view_literals;
  for (const std::string_view name : {""sv, ".."sv, "."sv, ".hidden"sv, "../x"sv, "a/b"sv, "a\\b"sv, "a b"sv, "a\nb"sv,
                                      "a\0b"sv, "\x1b[2J"sv, "M\xc3\xbcnchen"sv, "x,DNS:coordinator"sv})
    EXPECT_NE(flaw_of_party_name(name).find("must be 1 to 64 letters"), std::string_view::npos) << name;
  EXPECT_NE(flaw_of_party_name(std::string(65, 'x')), "");
}

TEST(PartyName, IsNotTheCoordinatorsNorTheAuthoritys) {
  for (const char* name : {"coordinator", "ca"}) {
    EXPECT_NE(flaw_of_party_name(name), "") << name;
    EXPECT_EQ(flaw_of_member_name(name), "") << name;
  }
}
