#include "parley/wire/frame.h"

#include <gtest/gtest.h>

using namespace parley::wire;

namespace {

Header header() {
  return {Kind::kReply, 0, {1, 2, 3}, 7};
}

}  // namespace

TEST(Frame, ComesBackAsItWasSent) {
  const Bytes bytes = make_frame(header(), "payload");
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.kind, Kind::kReply);
  EXPECT_EQ(frame->header.run, header().run);
  EXPECT_EQ(frame->header.round, 7);
  EXPECT_EQ(frame->payload, "payload");
  EXPECT_EQ(bytes.size(), kHeaderBytes + 7);
}

TEST(Frame, AnyChangedByteIsNoticed) {
  const Bytes good = make_frame(header(), "some payload");
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int change : {1, 0x80}) {
      Bytes bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      EXPECT_FALSE(read_frame(bad)) << at;
    }
}

TEST(Frame, EachKindOfBadFrameHasItsCode) {
  const Bytes good = make_frame(header(), "some payload");
  EXPECT_EQ(read_frame("").error(), Refusal::kCutOff);
  EXPECT_EQ(read_frame(good.substr(0, good.size() - 1)).error(), Refusal::kCutOff);
  EXPECT_EQ(read_frame(good + "x").error(), Refusal::kCutOff);
  EXPECT_EQ(read_frame(good, good.size() - 1).error(), Refusal::kTooLarge);
  Bytes bad = good;
  bad[0] = 'X';
  EXPECT_EQ(read_frame(bad).error(), Refusal::kNotAFrame);
  bad = good;
  bad[4] = 9;
  EXPECT_EQ(read_frame(bad).error(), Refusal::kWrongVersion);
  bad = good;
  bad.back() = 'X';
  EXPECT_EQ(read_frame(bad).error(), Refusal::kDamaged);
  EXPECT_EQ(read_frame(make_frame({static_cast<Kind>(99)}, "")).error(), Refusal::kUnknownKind);
}

TEST(Frame, WithoutAChecksumItIsReadOnlyInTheProgramThatMadeIt) {
  Header in_memory = header();
  in_memory.checked = false;
  const Bytes bytes = make_frame(in_memory, "payload");
  EXPECT_EQ(read_frame(bytes).error(), Refusal::kDamaged);
  const auto frame = read_frame(bytes, kDefaultLimit, Unchecked::kAllowed);
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->header.checked);
  EXPECT_EQ(bytes.size(), make_frame(header(), "payload").size());
}
