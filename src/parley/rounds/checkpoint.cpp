#include "parley/rounds/checkpoint.h"

#include <filesystem>

#include "parley/core/files.h"
#include "parley/wire/decode.h"

namespace parley::rounds {

Result<void> save(const Checkpoint& checkpoint, const std::string& path) {
  return write_atomically(path, wire::make_frame({wire::Kind::kKept, 0, checkpoint.run, checkpoint.round}, checkpoint));
}

Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) return fail(bad_input({path, 0, ""}, "cannot be looked at: " + error.message()));
  if (!there) return std::nullopt;
  PARLEY_TRY(const std::string content, read_whole(path));
  const auto frame = wire::read_frame(content);
  if (!frame || frame->header.kind != wire::Kind::kKept)
    return fail(bad_input({path, 0, ""}, "is not a checkpoint of this version, or is damaged"));
  Checkpoint checkpoint;
  if (!wire::decode_to(checkpoint, frame->payload, wire::Numbers::kAny))
    return fail(bad_input({path, 0, ""}, "is not a checkpoint of this version"));
  checkpoint.run = frame->header.run;
  checkpoint.round = frame->header.round;
  return checkpoint;
}

}  // namespace parley::rounds
