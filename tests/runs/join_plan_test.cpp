#include "parley/runs/join_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "parley/catalog/catalog.h"
#include "parley/catalog/read_job.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using ::testing::HasSubstr;

namespace {

// An algorithm over tables, whatever this program lists.
const std::string kAlgorithm = [] {
  catalog::Row row = *catalog::find("exact");
  row.name = "over-a-join";
  row.source = "of these tests";
  catalog::list(row);
  return row.name;
}();

class JoinPlanTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] Result<runs::JoinPlan> plan(const std::string& more) const {
    write("job.toml", "[job]\ntask = \"softmax\"\n[algorithm]\nname = \"" + kAlgorithm +
                          "\"\n[labels]\ncolumn = \"y\"\n[[party]]\nname = \"facts\"\ndata = \"facts.csv\"\n" + more);
    PARLEY_TRY(const jobs::Job job, catalog::read_job(folder_ / "job.toml", {}));
    return runs::plan_join(job);
  }
  TemporaryFolder folder_;
};

const std::string kTwo =
    "[[party]]\nname = \"users\"\ndata = \"users.csv\"\n[[join]]\nleft = [\"facts.u\"]\nright = [\"users.u\"]\n";

}  // namespace

TEST_F(JoinPlanTest, CountsWhatTravelsAndWhatIsKept) {
  write("facts.csv", "u,x,y\n1,1,a\n2,2,b\n2,3,c\n9,4,a\n,5,b\n");
  write("users.csv", "u,p,q\n1,1,2\n2,3,4\n3,5,6\n");
  const auto plan = this->plan(kTwo);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->rows, 3);
  EXPECT_EQ(plan->outputs, 3) << "a number a class";
  EXPECT_EQ(plan->tables[0].unused, 2);
  EXPECT_EQ(plan->tables[0].missing_keys, 1);
  EXPECT_EQ(plan->tables[1].unused, 1);
  EXPECT_EQ(plan->tables[1].most_used, 2);
  EXPECT_EQ(plan->bytes_per_epoch(), 2 * 8 * 3 * (3 + 2));
  EXPECT_EQ(plan->bytes_per_epoch_unreduced(), 2 * 8 * 3 * 3 * 2);
  EXPECT_GE(plan->memory_bytes(), 3 * (2 * 4 + 3 * 8 * 3));
  EXPECT_THAT(runs::join_json(*plan), HasSubstr("\"rows\":3"));
}

TEST_F(JoinPlanTest, GainsWhereTuplesAreWideAndUsedOften) {
  std::string facts = "u,x,y\n", users = "u,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9\n";
  for (int i = 0; i < 400; ++i)
    facts += std::to_string(i % 4) + ",1." + std::to_string(i) + (i % 2 == 0 ? ",a\n" : ",b\n");
  for (int i = 0; i < 4; ++i) users += std::to_string(i) + ",1,2,3,4,5,6,7,8,9,1" + std::to_string(i) + "\n";
  write("facts.csv", facts);
  write("users.csv", users);
  const auto plan = this->plan(kTwo);
  ASSERT_TRUE(plan) << plan.error().message;
  // 2 N (1 + 10) against 2 (N + 4 * 10) + 2 * 2 N
  EXPECT_DOUBLE_EQ(plan->factorised_gain(), 2 * 400 * 11.0 / (2 * 400 + 2 * 4 * 10 + 4 * 400));
  EXPECT_THAT(runs::join_table(*plan), HasSubstr("factorised: a pass over the join as a table is 3.5 times the work"));
}

TEST_F(JoinPlanTest, NamesTheJobInWhatItRefuses) {
  write("facts.csv", "u,x,y\n1,1,a\n2,2,b\n");
  write("users.csv", "u,p\n7,1\n");
  const auto plan = this->plan(kTwo);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("job.toml: join.1: leaves no row"));
}
