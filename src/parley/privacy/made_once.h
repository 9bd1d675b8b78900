// Tables that follow from a few public numbers and take time to make: made when they are first asked for, then kept.
#pragma once
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "parley/core/result.h"

namespace parley::privacy {

template <class Table, class... Numbers>
class MadeOnce {
 public:
  // The table of these numbers, by make() if there is none yet. It stays where it is for as long as this lives.
  template <class Make>
  Result<const Table*> get(const std::tuple<Numbers...>& of, const Make& make) {
    for (const auto& known : known_)
      if (known->of == of) return &known->table;
    PARLEY_TRY(Table table, make());
    known_.push_back(std::make_unique<Known>(Known{of, std::move(table)}));
    return &known_.back()->table;
  }

 private:
  struct Known {
    std::tuple<Numbers...> of;
    Table table;
  };
  std::vector<std::unique_ptr<Known>> known_;  // a run has few: looked through in order
};

}  // namespace parley::privacy
