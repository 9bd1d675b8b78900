#include "parley/wire/frame.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cassert>

namespace parley::wire {

namespace {

constexpr std::uint32_t kMagic = 0x594c5250;  // "PRLY" in memory
constexpr std::size_t kChecked = 40;          // header bytes before the checksum

struct Layout {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;
  std::uint8_t code;
  RunId run;
  std::int64_t round;
  std::uint64_t payload;
  std::uint64_t checksum;
};
static_assert(sizeof(Layout) == kHeaderBytes && offsetof(Layout, checksum) == kChecked);

std::uint64_t checksum(std::string_view frame) {
  const std::uint64_t head = XXH3_64bits(frame.data(), kChecked);
  const std::uint64_t whole = XXH3_64bits_withSeed(frame.data() + kHeaderBytes, frame.size() - kHeaderBytes, head);
  return whole == 0 ? 1 : whole;
}

}  // namespace

std::string_view name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kCutOff:
      return "cut off";
    case Refusal::kNotAFrame:
      return "not a frame";
    case Refusal::kWrongVersion:
      return "wrong protocol version";
    case Refusal::kUnknownKind:
      return "unknown kind of frame";
    case Refusal::kTooLarge:
      return "too large";
    case Refusal::kDamaged:
      return "damaged";
    case Refusal::kWrongRun:
      return "of another run";
    case Refusal::kOldRound:
      return "of an old round";
    case Refusal::kOtherTask:
      return "another task for a round that was answered";
    case Refusal::kUnexpected:
      return "unexpected here";
    case Refusal::kUnknownParty:
      return "from an unknown party";
    case Refusal::kBegunWithout:
      return "from a party without which the run began";
  }
  return "refused";
}

std::string hex(const RunId& run) {
  std::string text;
  for (const std::uint8_t byte : run) text += fmt::format("{:02x}", byte);
  return text;
}

void begin_frame(Bytes& frame) {
  frame.assign(kHeaderBytes, '\0');
}

void seal_frame(Bytes& frame, const Header& header) {
  assert(frame.size() >= kHeaderBytes);
  Layout layout{kMagic,
                kProtocolVersion,
                static_cast<std::uint8_t>(header.kind),
                header.code,
                header.run,
                header.round,
                frame.size() - kHeaderBytes,
                0};
  std::memcpy(frame.data(), &layout, sizeof layout);
  if (!header.checked) return;
  layout.checksum = checksum(frame);
  std::memcpy(frame.data(), &layout, sizeof layout);
}

Bytes make_frame(const Header& header, std::string_view payload) {
  Bytes frame;
  frame.reserve(kHeaderBytes + payload.size());
  begin_frame(frame);
  frame.append(payload);
  seal_frame(frame, header);
  return frame;
}

std::size_t promised_size(std::string_view beginning) {
  if (beginning.size() < kHeaderBytes) return 0;
  std::uint64_t payload = 0;
  std::memcpy(&payload, beginning.data() + offsetof(Layout, payload), sizeof payload);
  return payload > kDefaultLimit ? 0 : kHeaderBytes + payload;
}

tl::expected<Frame, Refusal> read_frame(std::string_view bytes, std::size_t limit, Unchecked unchecked) {
  if (bytes.size() > limit) return tl::unexpected(Refusal::kTooLarge);
  if (bytes.size() < kHeaderBytes) return tl::unexpected(Refusal::kCutOff);
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kMagic) return tl::unexpected(Refusal::kNotAFrame);
  if (layout.version != kProtocolVersion) return tl::unexpected(Refusal::kWrongVersion);
  if (layout.payload != bytes.size() - kHeaderBytes) return tl::unexpected(Refusal::kCutOff);
  if (layout.checksum == 0 ? unchecked == Unchecked::kRefused : layout.checksum != checksum(bytes))
    return tl::unexpected(Refusal::kDamaged);
  if (layout.kind < static_cast<std::uint8_t>(Kind::kOpen) || layout.kind > static_cast<std::uint8_t>(Kind::kKept))
    return tl::unexpected(Refusal::kUnknownKind);
  if (layout.round < 0) return tl::unexpected(Refusal::kDamaged);
  return Frame{{static_cast<Kind>(layout.kind), layout.code, layout.run, layout.round, layout.checksum != 0},
               layout.checksum,
               bytes.substr(kHeaderBytes)};
}

}  // namespace parley::wire
