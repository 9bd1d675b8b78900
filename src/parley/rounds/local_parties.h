// Parties that live in this process, each behind its handler, and the channel that reaches them.
#pragma once
#include <memory>
#include <vector>

#include "parley/rounds/handler.h"
#include "parley/rounds/tapped_channel.h"
#include "parley/transport/in_process/in_process.h"

namespace parley::rounds {

// A party that someone else owns: what it remembers can be read when the run is over and its handler has let it go.
class BorrowedParty final : public Responder {
 public:
  explicit BorrowedParty(Responder& party) : party_(party) {}
  Answered answer(const wire::Header& request, std::string_view task) override { return party_.answer(request, task); }
  [[nodiscard]] wire::Bytes memory() const override { return party_.memory(); }
  Result<void> restore(std::string_view memory) override { return party_.restore(memory); }
  [[nodiscard]] const std::string& last_error() const override { return party_.last_error(); }
  [[nodiscard]] Responder& itself() override { return party_; }

 private:
  Responder& party_;
};

class LocalParties {
 public:
  // `tap`: told of every frame that passes; null: nobody is.
  explicit LocalParties(std::vector<Admission> parties, Tap tap = {});

  [[nodiscard]] transport::Channel& channel() {
    return tapped_ ? static_cast<transport::Channel&>(*tapped_) : *channel_;
  }

 private:
  std::vector<std::unique_ptr<Handler>> handlers_;
  std::unique_ptr<transport::InProcess> channel_;
  std::unique_ptr<TappedChannel> tapped_;
};

}  // namespace parley::rounds
