// What an algorithm says about the quantities that leave a party, in words for whoever answers for the people whose data
// they are made from: Algorithm::leaves(terms, settings), shown by `parley site explain` (runs/explain.h).
//
// Everything that leaves is listed, but for what every party says of itself before the first round (jobs/introduction.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parley/privacy/label_noise.h"

namespace parley::algorithms {

struct Leaving {
  enum class Of {
    kPublic,  // made of nothing that is anybody's: keys, settings
    kTotal,   // one quantity of many people together
    kPerson,  // one for each person
  };
  std::string what;
  Of of = Of::kTotal;
  std::string to;  // who can read it
  std::string when;
  std::string protection;  // "none", or how, and whether it is paid for from the budget
};

// "in each of at most 100 rounds"
std::string each_round(long long rounds);
inline constexpr const char* kUnprotected = "none: it leaves as it is";
// Of masked sums: the keys. `pinned` is the site's to say, so it is said there.
Leaving key_of_masks();
// How labels of a party with columns or tables leave, if it holds them.
struct LabelTerms {
  std::optional<privacy::LabelNoise> noise;
  bool is_private = false;
};
Leaving labels_of(const LabelTerms& terms);

}  // namespace parley::algorithms
