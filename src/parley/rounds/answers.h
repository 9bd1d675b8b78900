// A view of what the parties replied in one round, in party order. A party that was not asked or stayed away is not in
// it.
//
//   for (const auto& answer : answers) use(answer.party, answer.reply);
#pragma once
#include <cstddef>
#include <span>

namespace parley::rounds {

template <class Reply>
struct Answer {
  int party = 0;  // number in the job's list of parties
  Reply reply;
};

template <class Reply>
class Answers {
 public:
  explicit Answers(std::span<const Answer<Reply>> in_party_order) : answers_(in_party_order) {}
  [[nodiscard]] auto begin() const { return answers_.begin(); }
  [[nodiscard]] auto end() const { return answers_.end(); }
  [[nodiscard]] std::size_t size() const { return answers_.size(); }
  [[nodiscard]] const Answer<Reply>& operator[](std::size_t i) const { return answers_[i]; }

 private:
  std::span<const Answer<Reply>> answers_;
};

}  // namespace parley::rounds
