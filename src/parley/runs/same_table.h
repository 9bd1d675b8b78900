// A run goes on with the table that it began with. A party that is started again reads its files anew, and half a model
// of one table and half of another is a model of neither; of a private run, the second table was never in the charge's
// bounds.
// So a digest of the files is kept with the run, at the party: it tells whoever guesses the table whether the guess is
// right, and never leaves.
#pragma once
#include <string>

#include "parley/core/result.h"
#include "parley/rounds/handler.h"

namespace parley::runs {

// Made before the table is read, and asked afterwards.
class SameTable {
 public:
  // `schema` may be empty, and so may `order`, the order that its rows are taken in.
  static Result<SameTable> of(const std::string& data, const std::string& schema, const std::string& order = {});
  // An error when the files changed since.
  [[nodiscard]] Result<void> still() const;
  // An error when the run was admitted here before with files of other bytes.
  [[nodiscard]] Result<void> as_in(const rounds::Opening& opening) const;
  [[nodiscard]] const std::string& digest() const { return digest_; }  // for Admission::data

 private:
  [[nodiscard]] Result<std::string> digest_of_rows() const;
  [[nodiscard]] std::string stamps() const;

  std::string data_;
  std::string schema_;
  std::string order_;
  std::string seen_;
  std::string digest_;
};

}  // namespace parley::runs
