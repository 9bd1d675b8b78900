// A test that has a ledger of its own.
#pragma once
#include <gtest/gtest.h>

#include <optional>

#include "parley/privacy/ledger/ledger.h"
#include "tests/support/temporary_folder.h"

namespace parley::privacy {

inline const Purse kPatients{"patients", Unit::kRecord, Neighbours::kReplaceOne};

class WithLedger : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::optional<Ledger> ledger_{std::move(*Ledger::open(folder_.path()))};
};

}  // namespace parley::privacy
