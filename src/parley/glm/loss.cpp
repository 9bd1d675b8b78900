#include "parley/glm/loss.h"

namespace parley::glm {

std::string_view name(Task task) {
  switch (task) {
    case Task::kLinear: return "linear";
    case Task::kLogistic: return "logistic";
    case Task::kSquaredHinge: return "squared-hinge";
    case Task::kSoftmax: return "softmax";
  }
  return "?";
}

}  // namespace parley::glm
