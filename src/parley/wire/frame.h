// A frame: what a transport carries, whole or not at all.
//
//   bytes  0-3   "PRLY"
//          4-5   protocol version
//          6     kind
//          7     code: why an answer is missing or a frame is refused; 0 otherwise
//          8-23  run
//         24-31  round, counted from 1; 0 before the first
//         32-39  bytes of the payload
//         40-47  XXH3-64 of everything else; 0: none, which only frames that never leave their program may have
//         48-    payload
//
// The checksum finds accidents; strangers are kept out by mutual TLS. A frame is checked before any of it is
// believed, and a bad one is refused with a code: no text crosses between parties.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "parley/privacy/values.h"
#include "parley/wire/encode.h"

namespace parley::wire {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;  // of a whole frame

enum class Kind : std::uint8_t {
  kOpen = 1,    // coordinator -> party, first on a connection: the job
  kReady = 2,   // party -> coordinator: the job is allowed here; payload introduces the party
  kTask = 3,    // coordinator -> party
  kReply = 4,   // party -> coordinator
  kFault = 5,   // party -> coordinator: no reply, and the code says why
  kRefuse = 6,  // either way: the last frame was not acceptable, and the code says why
  kClose = 7,   // coordinator -> party: the run is over
  kKept = 8,    // never travels: a checkpoint or a party's state on disk
};

// Why a frame is not acceptable.
enum class Refusal : std::uint8_t {
  kCutOff = 16,
  kNotAFrame = 17,
  kWrongVersion = 18,
  kUnknownKind = 19,
  kTooLarge = 20,
  kDamaged = 21,
  kWrongRun = 22,
  kOldRound = 23,    // before the round that was answered last
  kOtherTask = 24,   // the round that was answered last, but another task
  kUnexpected = 25,  // a kind that has no place here
  kUnknownParty = 26,
  kBegunWithout = 27,  // by the coordinator: the party was not there in time, or did not take part
};
std::string_view name(Refusal refusal);

using RunId = std::array<std::uint8_t, 16>;
std::string hex(const RunId& run);

struct Header {
  Kind kind = Kind::kOpen;
  std::uint8_t code = 0;
  RunId run{};
  std::int64_t round = 0;
  bool checked = true;  // carries a checksum; a frame that never leaves its program need not
};

struct Frame {
  Header header;
  std::uint64_t checksum = 0;
  std::string_view payload;  // inside the bytes that were read
};

// A frame is built in one buffer: begin, append the payload, seal.
void begin_frame(Bytes& frame);
void seal_frame(Bytes& frame, const Header& header);

template <Message T>
Bytes make_frame(const Header& header, const T& payload, Bytes room = {}) {
  Bytes frame = std::move(room);  // whatever is in it is overwritten
  begin_frame(frame);
  frame.reserve(kHeaderBytes + encoded_size(payload));
  encode_to(payload, frame);
  seal_frame(frame, header);
  return frame;
}
Bytes make_frame(const Header& header, std::string_view payload = {});

// The upward frame of a party's answer: from a released value or from a fault code, and from nothing else.
template <Message T>
Bytes make_answer(Header header, const privacy::Outgoing<T>& outgoing, Bytes room = {}) {
  header.kind = outgoing.failed() ? Kind::kFault : Kind::kReply;
  if (!outgoing.failed()) return make_frame(header, outgoing.value(), std::move(room));
  header.code = static_cast<std::uint8_t>(outgoing.fault());
  return make_frame(header);
}

// The size that the beginning of a frame promises, for making room; 0 when it is not to be seen yet. Not to
// be believed.
std::size_t promised_size(std::string_view beginning);

// Whether a frame may come without a checksum, as it may where frames never leave the program. Anywhere else such a
// frame counts as damaged: tasks and jobs are told apart by their checksums.
enum class Unchecked { kRefused, kAllowed };

tl::expected<Frame, Refusal> read_frame(std::string_view bytes, std::size_t limit = kDefaultLimit,
                                        Unchecked unchecked = Unchecked::kRefused);

}  // namespace parley::wire
