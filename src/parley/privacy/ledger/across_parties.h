// What a run costs a person when several parties released something about the same data.
//
//   same records       parties that hold parts of one record (vertical): every release touches the record, so the
//                      releases of all parties compose additively
//   disjoint records   parties that hold different people (horizontal): a change of one record stays with one party, so
//                      the run costs the largest of the parties' costs (parallel composition)
//   joint releases     parties that hold parts of one record and release nothing but together (masked sums over columns):
//                      each charges every release, of the sensitivity of a whole record, so the run costs the largest
// Parallel composition needs that who holds which record is fixed: replace-one keeps the replaced record where it was.
#pragma once
#include <span>

#include "parley/core/result.h"
#include "parley/privacy/accounting/event.h"
#include "parley/privacy/units.h"

namespace parley::privacy {

enum class Holding { kSameRecords, kDisjointRecords, kJointReleases };

// Smallest valid epsilon of the whole run at delta. Plans under different neighbouring relations are refused.
Result<double> epsilon_across(std::span<const Plan> parties, Holding holding, Delta delta);

}  // namespace parley::privacy
