#include "parley/jobs/introduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "parley/core/text.h"
#include "parley/data/utf8.h"
#include "parley/privacy/accounting/event.h"
#include "parley/wire/largest.h"

namespace parley::jobs {

namespace {

constexpr std::int64_t kMostRows = std::numeric_limits<linalg::Index>::max();  // that a table can have
// Parameters of a model for which the coordinator makes room on the word of a party: 128 MB. The job can state more.
constexpr double kMostParameters = 0x1p24;
constexpr std::size_t kMostEvents = 100;  // of a plan: kinds of release, not releases
constexpr double kLargestFact = 1e100;    // bounds, scales, norms: in the units of the data
constexpr double kRounding = 1 + 1e-9;    // of sums in another order
// Bytes of text that are read into trees, which take many times as many.
constexpr std::size_t kLongestPlan = std::size_t{1} << 20;
constexpr std::size_t kLongestSchema = std::size_t{1} << 24;           // it may list columns that are left out
constexpr std::size_t kLongestSchemaOfNumbers = std::size_t{1} << 20;  // of columns without names

Result<void> untrue(std::string rule) {
  return fail(failed(std::move(rule)));
}

bool are_utf8(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) { return data::is_utf8(name); });
}

// Names, numbers, bounds and scales are of one number of columns, which the job may state.
Result<void> check_columns(const Job& job, const Introduction& said) {
  // A table may be there for its keys alone.
  const bool joined = !job.tables.empty();
  if (said.column_count < (joined ? 0 : 1)) return untrue(fmt::format("{} columns", said.column_count));
  const auto columns = static_cast<std::size_t>(said.column_count);
  const std::int64_t end = std::int64_t{said.first_number} + said.column_count;
  if (!said.columns.empty() && said.columns.size() != columns)
    return untrue(fmt::format("{} columns, and the names of {}", said.column_count, said.columns.size()));
  if (!are_utf8(said.columns)) return untrue("names of columns that are no text");
  if (said.first_number < 0 || end > std::numeric_limits<linalg::Index>::max())
    return untrue(fmt::format("columns from number {} to {}", said.first_number, end - 1));
  for (const auto& [list, what] :
       {std::pair{&said.bounds, "bounds"}, std::pair{&said.scales, "scales"}, std::pair{&said.centers, "centers"}})
    if (!list->empty() && list->size() != columns)
      return untrue(fmt::format("{} columns, and the {} of {}", columns, what, list->size()));
  // Parties of one process whose indices begin at 0 and at 1 have one column more than either.
  const std::int64_t more = said.first_number == 0 ? 1 : 0;
  if (const auto stated = job.data.features;
      stated && said.columns.empty() && said.column_count != *stated && said.column_count != *stated + more)
    return untrue(fmt::format("{} columns, and data.features says {}", said.column_count, *stated));
  return {};
}

// How columns are scaled follows from the job and the bounds (choose_scaling).
Result<void> check_scales(const Job& job, const Introduction& said) {
  if (std::any_of(said.bounds.begin(), said.bounds.end(), [](double bound) { return bound < 0; }))
    return untrue("a bound below 0");
  if (std::any_of(said.scales.begin(), said.scales.end(), [](double scale) { return !(scale > 0); }))
    return untrue("a scale that is not above 0");
  if (job.data.scale == Scale::kStandardize)
    return said.scales.empty() || said.centers.empty() ? untrue("no scales of standardized columns") : Result<void>{};
  const bool by_bounds = job.data.scale == Scale::kBounds;
  if (!said.centers.empty() && (!by_bounds || job.data.unit_rows)) return untrue("centers of columns that have none");
  if (!by_bounds) return said.scales.empty() ? Result<void>{} : untrue("scales of columns that are not scaled");
  std::map<std::string, const data::ColumnSchema*> centred;
  const auto schema = data::parse_schema(said.schema, "schema");
  if (schema && !job.data.unit_rows)
    for (const data::ColumnSchema& column : schema->columns)
      if (column.middle()) centred[column.name] = &column;
  for (std::size_t j = 0; j < std::max({said.bounds.size(), said.scales.size(), said.centers.size()}); ++j) {
    const double bound = said.bounds.empty() ? 0 : said.bounds[j];
    const auto found = j < said.columns.size() ? centred.find(said.columns[j]) : centred.end();
    const data::ColumnSchema* column = found == centred.end() ? nullptr : found->second;
    const double center = column == nullptr ? 0 : *column->middle();
    const double scale = column != nullptr ? 1.0 / column->half_range() : bound > 0 ? 1.0 / bound : 1.0;
    if ((said.centers.empty() ? 0.0 : said.centers[j]) != center) return untrue("centers of columns that have none");
    if ((said.scales.empty() ? 1.0 : said.scales[j]) != scale) return untrue("scales that are not those of its bounds");
  }
  return {};
}

// Steps are made from it: a norm of 1e100 would stop everybody's learning.
Result<void> check_row_norm(const Job& job, const Introduction& said) {
  double squares = 0;
  bool bounded = job.data.scale != Scale::kStandardize && !said.bounds.empty();
  for (const double bound : said.bounds) {
    bounded = bounded && bound > 0;
    squares += job.data.scale == Scale::kBounds ? 1.0 : bound * bound;
  }
  double most = bounded ? std::sqrt(squares) : kLargestFact;
  if (job.data.unit_rows) most = 1;
  if (!(said.row_norm >= 0) || said.row_norm > kRounding * most)
    return untrue("a norm of rows that its bounds do not allow");
  return {};
}

// How many records it has: none is said where they are private, and the number that the job states where it states one.
Result<void> check_rows(const Job& job, int party, const Introduction& said) {
  const bool is_private = job.privacy.has_value();
  if (is_private && job.privacy->unit == privacy::Unit::kClient)
    return said.rows == 0 ? Result<void>{} : untrue("a number of records, and a client says none");
  if (said.rows < 1 || said.rows > kMostRows) return untrue(fmt::format("{} records", said.rows));
  if (!is_private) return {};
  // Delta would be 1/n^2 = 1: nothing could be claimed of a run that everybody has paid for.
  if (!job.privacy->delta && said.rows < 2) return untrue("one record, and privacy.delta is not given");
  const auto& own = job.parties[static_cast<std::size_t>(party)].records;
  const auto stated = own ? own : job.privacy->records;
  if (stated && said.rows != *stated)
    return untrue(fmt::format("{} records, and the job states {} for it", said.rows, *stated));
  return {};
}

// A private run whose cost nobody could state is not begun.
Result<void> check_plan(const Job& job, int party, const Introduction& said) {
  if (!pays(job, party))
    return said.plan.empty() && said.epsilon == 0 && said.delta == 0 && said.derivative_bound == 0 &&
                   said.missing_steps == 0
               ? Result<void>{}
               : untrue(job.privacy ? "a plan of charges, and it releases nothing that is paid for"
                                    : "a plan of charges, and the run is not private");
  if (said.plan.size() > kLongestPlan) return untrue(fmt::format("a plan of {} bytes", said.plan.size()));
  const auto plan = privacy::parse_plan(said.plan, "plan");
  if (!plan || plan->events.empty() || plan->events.size() > kMostEvents || plan->neighbours != job.privacy->neighbours)
    return untrue("it does not say what a private run would charge it");
  if (!(said.epsilon >= 0) || said.epsilon > kRounding * job.privacy->epsilon)
    return untrue("a charge above the job's epsilon");
  if (!(said.delta >= 0) || !(said.delta < 1) || (job.privacy->delta && said.delta > kRounding * *job.privacy->delta))
    return untrue("a charge above the job's delta");
  if (said.missing_steps < 0 || said.missing_steps > std::numeric_limits<int>::max())
    return untrue("a number of missing steps that no run takes");
  if (!(said.derivative_bound >= 0) ||
      (job.privacy->derivative_bound && said.derivative_bound != *job.privacy->derivative_bound))
    return untrue("a bound of derivatives that is not the job's");
  return {};
}

Result<void> check_schema_of(const Introduction& said) {
  if (said.schema.size() > (said.columns.empty() ? kLongestSchemaOfNumbers : kLongestSchema))
    return untrue(fmt::format("a schema of {} bytes", said.schema.size()));
  const auto schema = data::parse_schema(said.schema, "schema");
  if (!schema) return untrue("a schema that cannot be read");
  if (schema->features && said.columns.empty() && *schema->features > said.column_count)
    return untrue(fmt::format("{} columns, and a schema of {}", said.column_count, *schema->features));
  return {};
}

}  // namespace

Result<void> check_facts(const Job& job, int party, const Introduction& said) {
  if (said.party != job.parties[static_cast<std::size_t>(party)].name)
    return untrue("another name than its certificate's");
  if (!(wire::largest_number(said) <= kLargestFact)) return untrue("a number beyond 1e100");
  PARLEY_CHECK(check_columns(job, said));
  PARLEY_CHECK(check_schema_of(said));
  PARLEY_CHECK(check_scales(job, said));
  PARLEY_CHECK(check_row_norm(job, said));
  PARLEY_CHECK(check_rows(job, party, said));
  return check_plan(job, party, said);
}

Result<void> check_model_size(const Job& job, const Introduction& said) {
  const double classes = job.objective.task == glm::Task::kSoftmax ? static_cast<double>(said.classes.size()) : 1;
  const double stated = static_cast<double>(job.data.features.value_or(0) + 2) *
                        static_cast<double>(std::max<std::size_t>(1, job.labels.classes.size()));
  const double parameters = classes * (said.column_count + 1.0);
  if (parameters > std::max(kMostParameters, stated))
    return untrue(fmt::format(
        "{} columns, more than are taken on a party's word; data.features and labels.classes can state them",
        said.column_count));
  return {};
}

Result<void> check_classes(const Job& job, const Introduction& said) {
  const std::vector<std::string>& classes = said.classes;
  switch (job.objective.task) {
    case glm::Task::kLinear:
    case glm::Task::kPoisson:
      return classes.empty() ? Result<void>{} : untrue("classes of real labels");
    case glm::Task::kLogistic:
    case glm::Task::kSquaredHinge:
      if (classes.size() != 2) return untrue(fmt::format("{} classes of a task with two", classes.size()));
      break;
    case glm::Task::kSoftmax:
      if (classes.size() < 2) return untrue(fmt::format("{} classes", classes.size()));
      if (!job.labels.classes.empty() && classes != job.labels.classes) return untrue("other classes than the job's");
      break;
  }
  std::vector<std::string_view> sorted(classes.begin(), classes.end());
  std::sort(sorted.begin(), sorted.end());
  if (!are_utf8(classes) || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return untrue("classes that are no text, or the same");
  return {};
}

data::ColumnNames Introduction::column_names() const {
  return columns.empty() ? data::ColumnNames::numbered(first_number, column_count) : data::ColumnNames(columns);
}

}  // namespace parley::jobs
