#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parley/data/load.h"
#include "tests/fuzz/properties.h"

using namespace parley;

// The first byte chooses options, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = bytes[0];
  const std::string_view content(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  data::LoadOptions options;
  options.format = data::Format::kLibsvm;
  options.labels = (choice & 1) != 0   ? data::LabelKind::kReal
                   : (choice & 2) != 0 ? data::LabelKind::kBinary
                                       : data::LabelKind::kClasses;
  options.label_use = (choice & 4) != 0 ? data::LabelUse::kOptional : data::LabelUse::kRequired;
  if ((choice & 8) != 0) options.bound = 1.5;
  if ((choice & 16) != 0) options.features = 20;
  if ((choice & 32) != 0) options.first_index = choice >> 6 & 1;
  const auto loaded = data::load_text(content, "f", options);
  fuzz::check(loaded);
  fuzz::check_narrow(content, options, loaded);
  if (!loaded) return 0;
  // The same file as a test set of itself has the same columns and labels.
  const auto again = data::load_text(content, "f", data::options_like(*loaded, options));
  fuzz::require(again.has_value(), "a file reads like itself");
  fuzz::require(again->columns == loaded->columns, "a file has its own columns");
  fuzz::require(again->labels.values == loaded->labels.values, "a file has its own labels");
  fuzz::require(again->features.nonzeros() == loaded->features.nonzeros(), "a file has its own entries");
  return 0;
}
