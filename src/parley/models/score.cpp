#include "parley/models/score.h"

#include <fmt/format.h>

namespace parley::models {

Result<Scored> score(const Trained& trained, const data::Dataset& table) {
  PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
  return scored(trained.model, margins, table.labels.truth());
}

Scored scored(const glm::Model& model, std::span<const double> margins, std::span<const double> labels) {
  return {labels.size(), glm::measure(model.task, margins, labels, model.cut()),
          glm::judge(model.task, margins, labels, model.cut()), model.classes};
}

std::vector<std::string> doubts(const Scored& scored) {
  std::vector<std::string> all;
  if (scored.judgement) {
    const glm::Confusion& confusion = scored.judgement->confusion;
    std::size_t labelled = 0, predicted = 0, last = 0;
    for (std::size_t k = 0; k < confusion.classes; ++k) {
      labelled += confusion.labelled(k) > 0 ? 1 : 0;
      if (confusion.predicted(k) == 0) continue;
      ++predicted;
      last = k;
    }
    if (labelled > 1 && predicted == 1)
      all.push_back(fmt::format("the model predicts one class for every row{}",
                                last < scored.classes.size() ? ": '" + scored.classes[last] + "'" : ""));
  }
  if (scored.metrics.auc && *scored.metrics.auc < 0.5)
    all.push_back(fmt::format("the model orders rows worse than chance would (AUC {:.3g})", *scored.metrics.auc));
  if (scored.metrics.r_squared && *scored.metrics.r_squared < 0)
    all.push_back(fmt::format("the model is worse than the mean of the labels (R2 {:.3g})", *scored.metrics.r_squared));
  return all;
}

}  // namespace parley::models
