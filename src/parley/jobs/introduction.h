// What a party says about itself before the first round: public facts only (number of records, names, public bounds and
// scales of its columns, classes). From the introductions the coordinator knows whether the parties fit together, where
// to start, and whose columns the model is about.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/data/dataset.h"
#include "parley/jobs/job.h"

namespace parley::jobs {

struct Introduction {
  std::string party;
  // it trains on; what the job states where the relation hides it; 0 where a client's number is private
  std::int64_t rows = 0;
  // Digest of the record ids in their order, where parties hold columns and ids are public; of the table, where they
  // hold records and the run is not private: one table at two parties is then seen. Else 0: a digest of private records
  // would tell whoever guesses them.
  std::int64_t alignment = 0;
  double row_norm = 0;  // the largest Euclidean norm of a scaled row; its public bound in a private run
  int column_count = 0;
  int first_number = 0;  // columns are x<first>, x<first+1>, ... when `columns` is empty
  std::vector<std::string> columns;
  std::vector<double> bounds;   // 0 where none was declared; empty: none at all
  std::vector<double> scales;   // empty: ones
  std::vector<double> centers;  // empty: zeros
  bool labels = false;          // it holds them
  std::vector<std::string> classes;
  std::string schema;  // TOML: reads another table alike
  // What a private run will charge this party, from the job, the public bounds and its ledger.
  std::string plan;  // its events as JSON; empty: the run is not private
  double epsilon = 0;
  double delta = 0;
  double derivative_bound = 0;
  std::int64_t missing_steps = 0;  // that it would have charged beside them, and its budget does not hold
  bool pins_peers = false;  // it goes on only with keys that the other parties signed, by identities that it pins
  static void fields(auto& self, auto&& visit) {
    visit(self.party, self.rows, self.alignment, self.row_norm, self.column_count, self.first_number, self.columns,
          self.bounds, self.scales, self.centers, self.labels, self.classes, self.schema, self.plan, self.epsilon,
          self.delta, self.derivative_bound, self.missing_steps, self.pins_peers);
  }
  [[nodiscard]] data::ColumnNames column_names() const;
};

// Whether its numbers can be true, before any of them sizes anything: against each other, the job and the party's
// schema. What they are about says the federation (Federation::check_one). An error is for the coordinator: it names no
// record.
Result<void> check_facts(const Job& job, int party, const Introduction& said);
// Likewise of a model that the coordinator makes room for: its size is one that the job states, or that can be taken on
// a party's word.
Result<void> check_model_size(const Job& job, const Introduction& said);
// Likewise of whoever holds labels.
Result<void> check_classes(const Job& job, const Introduction& said);

}  // namespace parley::jobs
