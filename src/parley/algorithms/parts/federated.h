// What a federated algorithm says of itself, beside its four functions (rounds/algorithm.h). A row of the catalog names
// its class and how the parties' data are split; everything else follows from here (catalog/federation_of.h).
//
//   using Settings = ...;                                   Settings::read(Toml&) takes its keys of [algorithm]
//   static Result<A> make(const RunTerms&, Settings)        refuses what it cannot learn
//   static Result<void> check_private(const RunTerms&, const Settings&)
//                                                           likewise of a private run; draws and charges nothing
//   std::int64_t most_rounds() const                        a site answers no more
//   Result<void> reserve(const Data&, Memory&, Gate&) const charges what a party draws in the whole run
//
//   at the coordinator, once the parties introduced themselves:
//   Result<Iterate> begin(std::span<const PartyFacts>)      where rounds begin; what replies are held to from now on
//   std::size_t largest_reply(std::span<const PartyFacts>) const     in bytes
//
//   in words, for whoever answers for the data (leaving.h; a test asks every algorithm of the catalog):
//   static std::vector<Leaving> leaves(const RunTerms&, const Settings&)   what leaves a party
//
//   of its own choice:
//   bool converged(const Iterate&) const                    whether done() is for that, not for the number of rounds
//   std::optional<double> objective(const Iterate&) const   its value, where the coordinator knows it
//   Forecast forecast(std::span<const PartyFacts>, std::span<const std::vector<double>> column_bytes) const
//                                                           after begin(), for `parley plan`: forecast.h. Bytes of each
//                                                           stored column of each party, the largest first
//   std::optional<double> residual(const Iterate&) const    how far it is from an optimum, where the coordinator knows it
//   FinalCurvature curvature(const Iterate&) const          at the end of a run that asks for inference
//   using Judge                                             sees every iterate of a simulation that asks for it, with all
//                                                           parties' data; its result() is a Convergence
//   bool cut_short() const                                  whether begin() found that a budget holds fewer rounds
//
//   where parties hold rows:       Iterate::parameters      the model, class by class (horizontal/local_steps.h)
//   where parties hold columns:    Memory::weights          a party's part, then its intercept where it has one
//                                  Memory::released         whether they left through the gate
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parley/algorithms/parts/forecast.h"
#include "parley/algorithms/parts/leaving.h"
#include "parley/core/toml.h"
#include "parley/glm/objective.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/label_noise.h"
#include "parley/privacy/units.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

struct RelationalTerms;  // relational/table_share.h

// What a job says, the same at the coordinator and at every party.
struct RunTerms {
  glm::Objective objective;
  std::uint64_t seed = 0;
  bool seeded = false;  // the job gives it: what is drawn can be repeated, and nothing is claimed
  int parties = 0;
  bool is_private = false;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  privacy::Calibration calibration = privacy::Calibration::kProved;
  bool public_labels = false;                         // what is sent in their place is public to the parties
  std::optional<privacy::LabelNoise> label_noise{};   // they leave with it
  bool inference = false;                             // what tells how sure a model is, is wanted too
  bool keep_parts = false;                            // exact parts of a private model stay with the parties
  std::optional<privacy::Target> client;              // of a run whose unit is the client
  int quorum = 0;                                     // that must stay, where parties may drop out; 0: all must
  std::string run;                                    // at a party: names the run and all of its job, for masks
  std::shared_ptr<const RelationalTerms> relational;  // of a job whose parties hold tables that are joined
};

// What a party said about itself.
struct PartyFacts {
  int party = 0;             // its number in the job
  std::int64_t records = 0;  // 0 where a client's number is private
  std::size_t columns = 0;
  std::vector<double> bounds;      // public, of each column as it is trained on; 0 or none where nothing is declared
  double row_norm = 0;             // the largest of a row; its public bound in a private run
  bool labels = false;             // it holds them
  privacy::Plan plan;              // what it will charge
  std::int64_t missing_steps = 0;  // that it would have charged beside them, and its budget does not hold
};

template <class A>
concept Federated = rounds::Algorithm<A> &&
    requires(A algorithm, const A& constant, const RunTerms& terms, Toml& toml, typename A::Settings settings,
             std::span<const PartyFacts> parties, const typename A::Data& data, typename A::Memory& memory,
             privacy::Gate& gate) {
  { A::Settings::read(toml) } -> std::same_as<typename A::Settings>;
  { A::make(terms, settings) } -> std::same_as<Result<A>>;
  { A::check_private(terms, settings) } -> std::same_as<Result<void>>;
  { constant.most_rounds() } -> std::same_as<std::int64_t>;
  { constant.reserve(data, memory, gate) } -> std::same_as<Result<void>>;
  { algorithm.begin(parties) } -> std::same_as<Result<typename A::Iterate>>;
  { constant.largest_reply(parties) } -> std::same_as<std::size_t>;
};

}  // namespace parley::algorithms
