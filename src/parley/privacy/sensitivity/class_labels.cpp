#include "parley/privacy/sensitivity/class_labels.h"

#include <fmt/format.h>

namespace parley::privacy {

Result<Sensitive<ClassLabels, Hamming>> class_labels(const Private<std::vector<std::size_t>>& labels,
                                                     const LabelRule& rule) {
  if (rule.classes < 2)
    return fail(bad_input({.field = "classes"}, "must be at least 2", fmt::format("{}", rule.classes)));
  if (rule.neighbours != Neighbours::kReplaceOne)
    return fail(bad_input({.field = "neighbours"}, "one label per record has a public length: replace-one only"));
  if (rule.unit != Unit::kLabel && rule.unit != Unit::kRecord)
    return fail(bad_input({.field = "unit"}, "of labels must be label or record", std::string(name(rule.unit))));
  ClassLabels kept{SensitivityBound::read(labels), rule.classes};
  for (std::size_t& label : kept.labels)
    if (label >= rule.classes) label = 0;
  return SensitivityBound::state<Hamming>(std::move(kept), 1, rule);
}

}  // namespace parley::privacy
