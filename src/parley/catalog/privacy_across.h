// What a federated run may claim as a whole, from what its parties charged or said that they will.
#pragma once
#include <string>
#include <vector>

#include "parley/catalog/federation.h"
#include "parley/catalog/private_site.h"

namespace parley::catalog {

// Against whom the claim is proved. Sums under masks: privacy/masking/masked_sum.md.
std::string against_whom(const PrivacyReport& report);

// A party's part, from what it said about itself before the first round. It charges that or less, so the
// claim holds. What its budget is and what was spent of it is its own business; `releases` are those it pays
// for.
Result<PrivacyReport> report_of(const Job& job, const Introduction& said, int party);

// What the run costs a record in all: of the party that holds it, or of all parties that hold a part of it.
Result<PrivacyReport> privacy_across(const Federation& federation, const std::vector<PrivacyReport>& parties, privacy::Delta delta);
// Of all parties that introduced themselves.
Result<PrivacyReport> privacy_across(const Job& job, std::span<const Introduction> parties);

}  // namespace parley::catalog
