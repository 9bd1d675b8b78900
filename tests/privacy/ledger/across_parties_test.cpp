// labels: threads
#include "parley/privacy/ledger/across_parties.h"

#include <gtest/gtest.h>

#include <vector>

#include "parley/privacy/accounting/accountant.h"

using namespace parley::privacy;

namespace {

const Delta kDelta = *Delta::make(1e-6);

Plan gaussians(double sigma, std::int64_t count, Neighbours neighbours = Neighbours::kReplaceOne) {
  return {neighbours, {{Gaussian{sigma, 1.0}, count}}};
}

}  // namespace

TEST(EpsilonAcross, PartsOfOneRecordAddUp) {
  const std::vector<Plan> parties = {gaussians(10, 5), gaussians(10, 5)};
  EXPECT_DOUBLE_EQ(*epsilon_across(parties, Holding::kSameRecords, kDelta), *epsilon_at(gaussians(10, 10), kDelta));
}

TEST(EpsilonAcross, DifferentPeopleCostTheLargest) {
  const std::vector<Plan> parties = {gaussians(10, 5), gaussians(4, 5), gaussians(20, 5)};
  EXPECT_DOUBLE_EQ(*epsilon_across(parties, Holding::kDisjointRecords, kDelta), *epsilon_at(gaussians(4, 5), kDelta));
}

TEST(EpsilonAcross, RelationsAreNeverMixed) {
  const std::vector<Plan> parties = {gaussians(10, 5), gaussians(10, 5, Neighbours::kAddRemove)};
  EXPECT_FALSE(epsilon_across(parties, Holding::kSameRecords, kDelta));
  EXPECT_FALSE(epsilon_across(parties, Holding::kDisjointRecords, kDelta));
}

TEST(EpsilonAcross, NobodyReleasedNothing) {
  EXPECT_EQ(*epsilon_across({}, Holding::kSameRecords, kDelta), 0.0);
}
