// must say: is private within this context
#include "parley/privacy/randomness/generator.h"

using namespace parley;
using namespace parley::privacy;

class Known final : public Bits {
 public:
  Known() : Bits(true) {}
  Result<std::unique_ptr<Bits>> fork(std::string_view) override { return fail(failed("")); }
  void rekey_after_fork() override {}
};
