// A channel with an ear in it: what passes between the coordinator and the parties is told, and goes on as it is.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "parley/transport/channel.h"

namespace parley::rounds {

enum class Way { kDown, kUp };  // to a party, from a party
using Tap = std::function<void(int party, Way way, std::string_view frame)>;

class TappedChannel final : public transport::Channel {
 public:
  TappedChannel(transport::Channel& channel, Tap tap) : channel_(channel), tap_(std::move(tap)) {}

  [[nodiscard]] int parties() const override { return channel_.parties(); }
  [[nodiscard]] bool within_program() const override { return channel_.within_program(); }
  void send(std::span<const int> parties, const transport::SharedFrame& frame) override {
    for (const int party : parties) tap_(party, Way::kDown, *frame);
    channel_.send(parties, frame);
  }
  std::optional<transport::Arrival> receive(transport::Clock::time_point deadline) override {
    auto arrival = channel_.receive(deadline);
    if (arrival && arrival->frame) tap_(arrival->party, Way::kUp, *arrival->frame);
    return arrival;
  }
  void drop(int party) override { channel_.drop(party); }
  void limit(std::size_t bytes) override { channel_.limit(bytes); }
  void peek(transport::Peek peek) override { channel_.peek(std::move(peek)); }
  void wake() override { channel_.wake(); }

 private:
  transport::Channel& channel_;
  Tap tap_;
};

}  // namespace parley::rounds
