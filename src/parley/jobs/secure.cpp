#include "parley/jobs/secure.h"

namespace parley::jobs {

SecureSection SecureSection::read(Toml& secure) {
  using Duplicates = data::IdRule::Duplicates;
  SecureSection section;
  secure.choice<Align>("align", section.align,
                       {{"given", Align::kGiven}, {"ids", Align::kIds}, {"orders", Align::kOrders}});
  Find find = Find::kCommon;
  if (secure.choice<Find>("find", find, {{"common", Find::kCommon}, {"left", Find::kLeft}, {"count", Find::kCount}}))
    section.find = find;
  secure.texts("ids", section.ids);
  secure.boolean("fold_case", section.rule.fold_case);
  secure.choice<Duplicates>("duplicates", section.rule.duplicates,
                            {{"refuse", Duplicates::kRefuse}, {"first", Duplicates::kFirst}});
  return section;
}

}  // namespace parley::jobs
