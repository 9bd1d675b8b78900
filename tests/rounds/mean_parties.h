// Parties of the smallest algorithm, and a folder that goes away.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "parley/rounds/handler.h"
#include "parley/rounds/party.h"
#include "tests/rounds/mean.h"

namespace parley::tests {

inline std::unique_ptr<rounds::Party<Mean>> mean_party(const Mean& mean, double value) {
  return std::make_unique<rounds::Party<Mean>>(mean, std::vector<double>{value, 10 * value},
                                               rounds::without_privacy(privacy::Unprotected{}));
}

inline rounds::Admit admits(const Mean& mean, double value) {
  return [=](const rounds::Opening&) -> Result<rounds::Admission> {
    return rounds::Admission{mean_party(mean, value), "value " + std::to_string(value)};
  };
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "parley-rounds-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace parley::tests
