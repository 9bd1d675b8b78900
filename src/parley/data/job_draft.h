// The job file that is written beside generated or split data, ready for `parley train`.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace parley::data {

struct JobDraft {
  struct Party {
    std::string name;
    std::string data;    // relative to the job file
    std::string schema;  // likewise; empty: none
  };

  struct Join {
    std::string left;   // TABLE.COLUMN
    std::string right;  // likewise
  };
  struct Union {
    std::string table;
    std::vector<std::string> parties;
  };

  std::string comment;  // lines for the person who opens the file
  std::string name;
  std::string partition;  // single | horizontal | vertical | relational
  std::string task;       // linear | logistic | softmax
  std::optional<double> l1;
  std::optional<double> l2;
  std::optional<double> l1_radius;
  std::optional<std::size_t> sparsity;
  std::string algorithm;
  std::optional<int> iterations;
  std::string label_party;   // empty: every party has labels, or there is one party
  std::string label_column;  // empty: LIBSVM
  std::string scale = "none";
  std::vector<Party> parties;
  std::vector<Join> joins;
  std::vector<Union> unions;
};

std::string to_toml(const JobDraft& job);

// A TOML basic string with its quotes.
std::string toml_string(std::string_view text);

}  // namespace parley::data
