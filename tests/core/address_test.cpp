#include "parley/core/address.h"

#include <gtest/gtest.h>

using namespace parley;

namespace {

bool accepted(std::string_view address, PortZero zero) {
  return check_address(address, {.field = "--listen"}, zero).has_value();
}

}  // namespace

TEST(Address, HasAHostAndAPortThatExists) {
  for (const char* good : {"127.0.0.1:7000", "host:1", "host.example.org:65535", "[::1]:7000", "[2001:db8::1]:1"})
    for (const PortZero zero : {PortZero::kRefused, PortZero::kSystemChooses})
      EXPECT_TRUE(accepted(good, zero)) << good;
  for (const char* bad :
       {"", ":", "127.0.0.1", "127.0.0.1:", ":7000", "host:x", "host:70000", "host:99999999999999999999", "host:-1",
        "host:+1", "host: 1", "host:1 ", "::1:7000", "[::1]", "[]:7000", "a b:7000", "http://host:7000"})
    for (const PortZero zero : {PortZero::kRefused, PortZero::kSystemChooses}) EXPECT_FALSE(accepted(bad, zero)) << bad;
}

TEST(Address, HasPortZeroOnlyWhereTheSystemMayChoose) {
  EXPECT_TRUE(accepted("127.0.0.1:0", PortZero::kSystemChooses));
  EXPECT_FALSE(accepted("127.0.0.1:0", PortZero::kRefused));
}

TEST(Address, IsRefusedInALineThatNamesItAndItsPlace) {
  const auto refused = check_address("host:70000", {"site.toml", 0, "site.coordinator"}, PortZero::kRefused);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBadInput);
  EXPECT_EQ(refused.error().message,
            "site.toml: site.coordinator: must have a port from 1 to 65535 (got 'host:70000')");
}
