// What charged plans cost by the present accountant.
//
// A ledger keeps the price that a plan was charged at. An accountant that is found to have answered too low leaves such
// prices behind, so an entry says by which pricing it was made (kPricing), and a plan of an earlier one is priced anew
// whenever the ledger is read: what it costs counts against the budget, not what was written. Equal plans at equal
// delta are priced once.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "parley/privacy/ledger/entry_text.h"
#include "parley/privacy/ledger/standing.h"

namespace parley::privacy {

struct Repriced {
  Price price;           // that counts: never below the one in the entry
  bool too_low = false;  // the one in the entry does not cover the plan
};

class Repricing {
 public:
  // Whether the entry's own price covers the plan, whoever made it.
  Repriced of(const ChargedPlan& charged);
  // The price to count for an entry: its own where it was made by the present pricing.
  Price counted(const ChargedPlan& charged) {
    return charged.pricing >= kPricing ? price_in(charged) : of(charged).price;
  }
  [[nodiscard]] std::size_t priced() const { return costs_.size(); }

 private:
  double cost(const Plan& plan, double delta);
  std::map<std::pair<std::string, double>, double> costs_;
};

}  // namespace parley::privacy
