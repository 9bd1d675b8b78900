// Bytes from a peer: as a raw frame, as the payload of a sealed one at a party with an open run, and as a
// checkpoint's message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parley/rounds/checkpoint.h"
#include "parley/rounds/handler.h"
#include "tests/fuzz/properties.h"
#include "tests/rounds/mean_parties.h"

using namespace parley;

namespace {

constexpr wire::RunId kRun{1};

void check_answer(const std::optional<transport::SharedFrame>& answer) {
  if (!answer) return;
  const auto frame = wire::read_frame(**answer);
  fuzz::require(frame.has_value(), "an answer is a frame");
  using wire::Kind;
  const Kind kind = frame->header.kind;
  fuzz::require(kind == Kind::kReady || kind == Kind::kReply || kind == Kind::kFault || kind == Kind::kRefuse ||
                    kind == Kind::kClose,
                "a party answers with what a party may say");
  if (kind == Kind::kFault || kind == Kind::kRefuse)
    fuzz::require(frame->payload.empty() && frame->header.code != 0, "a code without text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const tests::Mean mean{.rounds = 3};
  rounds::Handler site(tests::admits(mean, 2), "");
  check_answer(site.respond(input));
  check_answer(site.respond(wire::make_frame({.kind = wire::Kind::kOpen, .run = kRun}, "job")));
  check_answer(site.respond(input));
  const wire::Header header{static_cast<wire::Kind>(1 + bytes[0] % 8), 0, kRun, bytes[1] % 4};
  const auto first = site.respond(wire::make_frame(header, input.substr(2)));
  check_answer(first);
  const auto again = site.respond(wire::make_frame(header, input.substr(2)));
  check_answer(again);
  if (first && wire::read_frame(**first)->header.kind == wire::Kind::kReply)
    fuzz::require(**first == **again, "a repeated request gets the same bytes");
  if (const auto task = wire::decode<tests::Mean::Task>(input))
    fuzz::require(wire::encode(*task) == input, "one value, one encoding");
  if (const auto kept = wire::decode<rounds::Checkpoint>(input, wire::Numbers::kAny))
    fuzz::require(wire::encode(*kept) == input, "one value, one encoding");
  return 0;
}
