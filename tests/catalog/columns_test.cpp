// What a party that holds columns may write down of a private model.
#include "parley/catalog/columns.h"

#include <gtest/gtest.h>

#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/wire/encode.h"

using namespace parley;
using namespace parley::catalog;

namespace {

constexpr const char* kJob = R"(
[job]
partition = "vertical"
task = "logistic"
[model]
l2 = 0.1
[algorithm]
name = "admm-sharing"
iterations = 3
[labels]
public = true
[privacy]
epsilon = 1.0
delta = 1e-5
[[party]]
name = "clinic"
[[party]]
name = "insurer"
)";

Result<std::vector<models::Trained>> parts(const std::vector<std::string>& overrides, bool released) {
  const auto job = parse_job(jobs::JobText{"job.toml", kJob, overrides}, jobs::Paths::kAtSites);
  EXPECT_TRUE(job) << job.error().message;
  jobs::Introduction clinic;
  clinic.party = "clinic";
  clinic.rows = 10;
  clinic.column_count = 2;
  clinic.first_number = 1;
  clinic.labels = true;
  clinic.classes = {"-1", "1"};
  clinic.schema = data::to_toml({});
  algorithms::AdmmSharing::Memory memory;
  memory.weights = {0.5, -0.25};
  memory.released = released;
  const wire::Bytes bytes = wire::encode(memory);
  return federation_of(*job)->model(*job, {{&clinic, 1}, {}, {&bytes, 1}});
}

}  // namespace

TEST(VerticalParts, OfAPrivateRunAreWrittenOnceTheyAreReleased) {
  const auto early = parts({}, false);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("before this part was released"), std::string::npos) << early.error().message;
  const auto done = parts({}, true);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->front().model.weights, (std::vector<double>{0.5, -0.25}));
}

TEST(VerticalParts, AreWrittenAsTheyAreWhereTheJobKeepsThem) {
  const auto kept = parts({"model.keep_parts=true"}, false);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->front().model.weights, (std::vector<double>{0.5, -0.25}));
}
