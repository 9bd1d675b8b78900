#include "parley/rounds/local_parties.h"

namespace parley::rounds {

LocalParties::LocalParties(std::vector<Admission> parties, Tap tap) {
  for (std::size_t p = 1; p < parties.size(); ++p) parties[p].party->itself().join(parties.front().party->itself());
  std::vector<transport::Respond> respond;
  for (Admission& party : parties) {
    const auto waiting = std::make_shared<Admission>(std::move(party));
    handlers_.push_back(
        std::make_unique<Handler>([waiting](const Opening&) -> Result<Admission> { return std::move(*waiting); }, ""));
    respond.push_back([handler = handlers_.back().get()](std::string_view frame) {
      return handler->respond(frame, wire::Unchecked::kAllowed);
    });
  }
  channel_ = std::make_unique<transport::InProcess>(std::move(respond));
  if (tap) tapped_ = std::make_unique<TappedChannel>(*channel_, std::move(tap));
}

}  // namespace parley::rounds
