#include "parley/secure/seal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace parley;
using namespace parley::secure;

namespace {

constexpr std::string_view kRun = "run 1, job 5f";
constexpr SealAt kFirst{.round = 1, .step = 0};

struct Site {
  Identity identity = *Identity::make();
  RunKey key = *RunKey::make();
  [[nodiscard]] std::string hello(std::string_view run = kRun) const { return *hello_of(identity, key, run); }
  [[nodiscard]] std::string pin() const { return identity.public_key(); }
  [[nodiscard]] Result<Seal> with(const Site& peer, std::string_view run = kRun) const {
    return Seal::agree({.own = identity, .key = key, .run = run}, {.pinned = peer.pin(), .hello = peer.hello(run)});
  }
};

}  // namespace

TEST(Seal, OnlyTheReceiverReadsWhatWasSealedForIt) {
  const Site clinic, registry, insurer;
  Seal at_clinic = *clinic.with(registry), at_registry = *registry.with(clinic), at_insurer = *insurer.with(clinic);
  std::int64_t round = 0;
  for (const std::string& content : {std::string("gradient"), std::string(), std::string(100'000, 'x')}) {
    const SealAt at{.round = ++round, .step = 3};
    const std::string sealed = *at_clinic.seal(content, at);
    EXPECT_EQ(sealed.size(), content.size() + kSealBytes);
    EXPECT_FALSE(at_insurer.open(sealed, at));
    EXPECT_FALSE(at_clinic.open(sealed, at)) << "what a site sealed is not believed to come from its peer";
    EXPECT_EQ(at_registry.open(sealed, at).value_or("refused"), content);
  }
}

TEST(Seal, ABitThatWasChangedIsNoticedWhereverItIs) {
  const Site clinic, registry;
  Seal at_clinic = *clinic.with(registry), at_registry = *registry.with(clinic);
  const std::string sealed = *at_clinic.seal("12 numbers", kFirst);
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string touched = sealed;
    touched[at] = static_cast<char>(touched[at] ^ 1);
    EXPECT_FALSE(at_registry.open(touched, kFirst)) << at;
    EXPECT_FALSE(at_registry.open(std::string_view(sealed).substr(0, at), kFirst)) << at;
  }
  EXPECT_FALSE(at_registry.open(sealed + "x", kFirst));
  EXPECT_TRUE(at_registry.open(sealed, kFirst)) << "what was refused uses nothing up";
}

TEST(Seal, AMessageOpensOnceAtItsPlaceAndInItsOrder) {
  const Site clinic, registry;
  Seal at_clinic = *clinic.with(registry), at_registry = *registry.with(clinic);
  const SealAt second{.round = 1, .step = 1}, third{.round = 2, .step = 0};
  const std::string one = *at_clinic.seal("one", kFirst), two = *at_clinic.seal("two", second);
  const std::string three = *at_clinic.seal("three", third);
  EXPECT_FALSE(at_registry.open(two, kFirst)) << "of another step";
  EXPECT_FALSE(at_registry.open(three, kFirst)) << "of another round";
  EXPECT_EQ(*at_registry.open(one, kFirst), "one");
  EXPECT_FALSE(at_registry.open(one, kFirst)) << "a replay";
  EXPECT_EQ(*at_registry.open(three, third), "three");
  EXPECT_FALSE(at_registry.open(two, second)) << "late: reordered";
}

TEST(Seal, APlaceIsSealedForOnceAlsoAfterARestart) {
  const Site clinic, registry;
  Seal before = *clinic.with(registry);
  ASSERT_TRUE(before.seal("one", kFirst));
  EXPECT_FALSE(before.seal("another", kFirst));
  EXPECT_FALSE(before.seal("earlier", {.round = 0, .step = 9}));
  EXPECT_FALSE(before.seal("no round", {.round = -1, .step = 9}));
  const RunKey again = *RunKey::of(clinic.key.secret());
  Seal after = *Seal::agree({.own = clinic.identity, .key = again, .run = kRun},
                            {.pinned = registry.pin(), .hello = registry.hello()});
  after.skip_to(before.marks());
  EXPECT_FALSE(after.seal("another", kFirst));
  Seal at_registry = *registry.with(clinic);
  EXPECT_EQ(*at_registry.open(*after.seal("two", {.round = 2}), {.round = 2}), "two");
  after.skip_to({});
  EXPECT_FALSE(after.seal("another", kFirst)) << "never back";
}

// Two messages under one key and nonce would show their difference and the key that authenticates.
TEST(Seal, ASiteThatWasSetBackStillEncryptsNoTwoMessagesUnderOneKey) {
  const Site clinic, registry;
  std::set<std::string> seen;
  for (int time = 0; time < 50; ++time) {
    Seal from_the_start = *clinic.with(registry);
    const std::string sealed = *from_the_start.seal("same", kFirst);
    EXPECT_TRUE(seen.insert(sealed.substr(0, kKeyBytes)).second);
    EXPECT_TRUE(seen.insert(sealed.substr(kKeyBytes)).second);
  }
}

TEST(Seal, ARelayThatSwapsKeysIsRefused) {
  const Site clinic, registry, relay;
  // Its own hello in the place of the registry's, its own key under the registry's name, a signature cut out.
  const Oneself self{.own = clinic.identity, .key = clinic.key, .run = kRun};
  const auto swapped = Seal::agree(self, {.pinned = registry.pin(), .hello = relay.hello()});
  ASSERT_FALSE(swapped);
  EXPECT_NE(swapped.error().message.find("another key than the pinned one"), std::string::npos);
  std::string forged = registry.hello();
  forged.replace(kKeyBytes, kKeyBytes, relay.key.public_key());
  EXPECT_FALSE(Seal::agree(self, {.pinned = registry.pin(), .hello = forged}));
  std::string posing = relay.hello();
  posing.replace(0, kKeyBytes, registry.pin());
  EXPECT_FALSE(Seal::agree(self, {.pinned = registry.pin(), .hello = posing}));
  EXPECT_FALSE(Seal::agree(self, {.pinned = registry.pin(), .hello = {}}));
  EXPECT_FALSE(Seal::agree(self, {.pinned = clinic.pin(), .hello = clinic.hello()})) << "oneself is no peer";
  EXPECT_TRUE(Seal::agree(self, {.pinned = {}, .hello = relay.hello()}))
      << "where nothing is pinned, anyone is believed";
}

TEST(Seal, AHelloOfAnotherRunIsRefused) {
  const Site clinic, registry;
  const Oneself self{.own = clinic.identity, .key = clinic.key, .run = "run 2"};
  EXPECT_FALSE(Seal::agree(self, {.pinned = registry.pin(), .hello = registry.hello("run 1")}));
  EXPECT_TRUE(Seal::agree(self, {.pinned = registry.pin(), .hello = registry.hello("run 2")}));
}

TEST(Seal, RunsShareNoKeysEvenWhereTheirEphemeralKeysAreTheSame) {
  const Site clinic, registry;
  Seal one = *clinic.with(registry, "run 1"), other = *registry.with(clinic, "run 2");
  EXPECT_FALSE(other.open(*one.seal("content", kFirst), kFirst));
}

TEST(Seal, KeysUnderWhichEverybodyKnowsTheSecretAreRefused) {
  const Site clinic, liar;
  for (const char first : {'\0', '\1'}) {
    std::string small(kKeyBytes, '\0');
    small[0] = first;
    const std::string signature = *liar.identity.sign("parley hello 1" + liar.pin() + small + std::string(kRun));
    const std::string hello = liar.pin() + small + signature;
    ASSERT_TRUE(read_hello(hello, liar.pin(), kRun));
    EXPECT_FALSE(
        Seal::agree({.own = clinic.identity, .key = clinic.key, .run = kRun}, {.pinned = liar.pin(), .hello = hello}));
  }
}

// Neither the long-term keys nor the hellos, which is all that a thief finds after a run, open what was recorded.
TEST(Seal, AStolenIdentityReadsNothingThatWasRecorded) {
  const Site clinic, registry;
  Seal at_clinic = *clinic.with(registry);
  const std::string recorded = *at_clinic.seal("content", kFirst);
  const RunKey of_the_thief = *RunKey::make();
  Seal thief = *Seal::agree({.own = registry.identity, .key = of_the_thief, .run = kRun},
                            {.pinned = clinic.pin(), .hello = clinic.hello()});
  EXPECT_FALSE(thief.open(recorded, kFirst));
}

TEST(Identity, IsTheSameAfterItWasWrittenAndRead) {
  const Identity made = *Identity::make();
  const Identity read = *Identity::read(*made.pem());
  EXPECT_EQ(read.public_key(), made.public_key());
  EXPECT_TRUE(signed_by(made.public_key(), "text", *read.sign("text")));
  EXPECT_FALSE(signed_by(made.public_key(), "other", *read.sign("text")));
  EXPECT_FALSE(Identity::read("nonsense"));
  EXPECT_FALSE(Identity::read(""));
  EXPECT_NE(Identity::make()->public_key(), made.public_key());
}

TEST(Identity, IsPinnedAsHexadecimalDigits) {
  const Identity made = *Identity::make();
  const std::string text = text_of_key(made.public_key());
  EXPECT_EQ(text.size(), 64U);
  EXPECT_EQ(*key_of_text(text), made.public_key());
  for (const std::string& bad : {std::string(), text.substr(1), text + "0", text + "00", "g" + text.substr(1),
                                 std::string(64, 'A'), std::string(64, ' ')})
    EXPECT_FALSE(key_of_text(bad)) << bad;
}
