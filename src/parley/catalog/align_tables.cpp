#include "parley/catalog/align_tables.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "parley/rounds/drive.h"
#include "parley/rounds/local_parties.h"
#include "parley/rounds/party.h"

namespace parley::catalog {

namespace {

using algorithms::Alignment;
using Align = jobs::SecureSection::Align;

const jobs::PartySection& section(const jobs::Job& job, int party) {
  return job.parties[static_cast<std::size_t>(party)];
}

}  // namespace

Result<void> check_alignable(const jobs::Job& job) {
  if (job.partition != jobs::Partition::kVertical)
    return fail(bad_input({job.file, 0, "job.partition"},
                          "only parties that hold columns of the same records are aligned", jobs::name(job.partition)));
  if (job.parties.size() < 2)
    return fail(bad_input({job.file, 0, "party"}, "an alignment is of at least two parties",
                          fmt::format("{}", job.parties.size())));
  return {};
}

Alignment::Mode mode_of(jobs::SecureSection::Find find) {
  using Find = jobs::SecureSection::Find;
  return find == Find::kCount  ? Alignment::Mode::kCount
         : find == Find::kLeft ? Alignment::Mode::kLeft
                               : Alignment::Mode::kCommon;
}

Result<data::RecordIds> ids_of(const jobs::Job& job, int party, const PartySource& source) {
  const auto labels = jobs::holds_labels(job, party) ? data::LabelUse::kRequired : data::LabelUse::kNone;
  PARLEY_TRY(const data::Dataset table, read_raw(job, party, source, labels));
  return data::record_ids(table, job.secure.rule, source.train.name());
}

Result<AlignedTables> align_here(const std::vector<std::string>& parties, std::vector<data::RecordIds> ids,
                                 Alignment::Mode mode) {
  using Party = rounds::AlgorithmParty<Alignment>;
  const Alignment alignment(static_cast<int>(parties.size()), mode);
  std::vector<std::unique_ptr<Party>> owned;
  std::vector<rounds::Admission> admitted;
  for (std::size_t p = 0; p < ids.size(); ++p) {
    owned.push_back(std::make_unique<Party>(alignment, Alignment::Data{&ids[p], static_cast<int>(p)},
                                            rounds::without_privacy(privacy::Unprotected{})));
    admitted.push_back({std::make_unique<rounds::BorrowedParty>(*owned.back()), {}});
  }
  rounds::LocalParties local(std::move(admitted));
  PARLEY_TRY(rounds::Exchange exchange, rounds::Exchange::make(local.channel(), rounds::Terms{.parties = parties}));
  PARLEY_CHECK(exchange.open());
  PARLEY_TRY(const auto outcome, rounds::drive(alignment, alignment.start(), exchange));
  AlignedTables aligned{.kept = outcome.iterate.kept, .communication = exchange.meter().communication()};
  for (const Alignment::Beside& beside : outcome.iterate.beside) aligned.common.push_back(beside.common);
  for (std::size_t p = 0; p < ids.size(); ++p) aligned.orders.push_back(order_of(owned[p]->state(), ids[p]));
  aligned.ids = std::move(ids);
  return aligned;
}

Result<std::vector<std::int64_t>> bring_in_order(const jobs::Job& job, std::span<const int> parties,
                                                 const Sources& sources, std::vector<data::Dataset>& tables) {
  std::vector<std::int64_t> alignments(tables.size(), 0);
  if (job.secure.align == Align::kGiven) return alignments;
  std::vector<data::RowOrder> orders;
  if (job.secure.align == Align::kOrders) {
    for (const int party : parties) {
      const jobs::PartySection& own = section(job, party);
      if (own.order.empty())
        return fail(bad_input({job.file, 0, "party." + own.name + ".order"},
                              "is missing: the job takes the tables in orders that parley align made"));
      PARLEY_TRY(orders.emplace_back(), data::read_order(own.order));
    }
  } else {
    if (parties.size() != job.parties.size())
      return fail(bad_input(
          {job.file, 0, "secure.align"},
          "finds common records where all tables are read; between sites: parley align, then \"orders\"", "ids"));
    std::vector<std::string> names;
    std::vector<data::RecordIds> ids;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      names.push_back(section(job, parties[p]).name);
      PARLEY_TRY(ids.emplace_back(), data::record_ids(tables[p], job.secure.rule, sources[p].train.name()));
    }
    PARLEY_TRY(AlignedTables aligned, align_here(names, std::move(ids), Alignment::Mode::kCommon));
    for (auto& order : aligned.orders) orders.push_back(std::move(*order));
  }
  for (std::size_t p = 0; p < tables.size(); ++p) {
    PARLEY_TRY(tables[p], data::in_order(tables[p], orders[p], job.secure.rule, sources[p].train.name()));
    alignments[p] = orders[p].alignment;
  }
  return alignments;
}

}  // namespace parley::catalog
