// The only door between Sensitive and Released.
//
// Each release does, in this order:
//   1. check that the value, the purse and the noise belong together;
//   2. charge the ledger durably (a refusal ends here, before any noise exists);
//   3. draw the noise;
//   4. hand out a Released value.
// A crash between 2 and 3 wastes budget and never leaks.
//
// Running without privacy is a mechanism too: it is asked for by name, costs infinity, is written down, and every
// value it releases says that nothing is claimed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/values.h"

namespace parley::privacy {

// Noise parameters as types, so that a deviation cannot be taken for a scale.
struct Deviation {
  double sigma = 0;
};
struct LaplaceScale {
  double scale = 0;
};

class Gate {
 public:
  // Releases from this gate are paid from `purse` for the run `run`. Ledger and generator must outlive it.
  static Result<Gate> open(Ledger& ledger, Purse purse, std::string run, Bits& bits);
  // The gate of a run that asked for no privacy: it lets values out in the clear, and refuses to add noise.
  static Gate without_privacy(Unprotected) { return Gate(); }
  [[nodiscard]] bool charges() const { return ledger_ != nullptr; }

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  Gate(Gate&&) noexcept = default;
  Gate& operator=(Gate&&) noexcept = delete;

  // `key` names the release within the run; a key can be used once.
  // value + N(0, sigma^2 I), rounded to the grain (rounded_gaussian.md).
  Result<Released<std::vector<double>>> gaussian(const Sensitive<GridVector, L2>& value, Deviation noise, std::string_view key);
  // value + discrete Laplace.
  Result<Released<std::vector<double>>> laplace(const Sensitive<GridVector, L1>& value, LaplaceScale noise, std::string_view key);
  // An index by the exponential mechanism.
  Result<Released<std::size_t>> select(const Sensitive<GridVector, Linf>& scores, Epsilon epsilon, std::string_view key);

  // The wrong norm is a mistake that the compiler names.
  template <class Norm>
  Result<Released<std::vector<double>>> gaussian(const Sensitive<GridVector, Norm>&, Deviation, std::string_view) {
    static_assert(kNever<Norm>, "Gaussian noise needs an l2 bound");
    return fail(failed(""));
  }
  template <class Norm>
  Result<Released<std::vector<double>>> laplace(const Sensitive<GridVector, Norm>&, LaplaceScale, std::string_view) {
    static_assert(kNever<Norm>, "Laplace noise needs an l1 bound");
    return fail(failed(""));
  }
  template <class Norm>
  Result<Released<std::size_t>> select(const Sensitive<GridVector, Norm>&, Epsilon, std::string_view) {
    static_assert(kNever<Norm>, "selection needs a bound on every score (Linf)");
    return fail(failed(""));
  }

  // In the clear: what a run without [privacy] does. Nothing is claimed for it, and the value says so.
  template <class T>
  static Released<T> in_the_clear(const Private<T>& value, Unprotected) {
    return Released<T>(PrivateReader::read(value), false);
  }
  // The same where the run decides: refused by a gate that charges.
  template <class T>
  [[nodiscard]] Result<Released<T>> unprotected(const Private<T>& value) const {
    if (charges()) return fail(failed("a private run releases nothing in the clear"));
    return in_the_clear(value, Unprotected{});
  }
  template <class Norm>
  static Released<std::vector<double>> in_the_clear(const Sensitive<GridVector, Norm>& value, Unprotected) {
    return Released<std::vector<double>>(values_of(value.value_), false);
  }

 private:
  Gate() = default;
  static std::vector<double> values_of(const GridVector& grid);
  Gate(Ledger& ledger, Purse purse, std::string run, Bits& bits)
      : ledger_(&ledger), purse_(std::move(purse)), run_(std::move(run)), bits_(&bits) {}
  template <class T, class Norm>
  Result<void> check(const Sensitive<T, Norm>& value) const;
  Result<void> charge(const Mechanism& mechanism, std::string_view key);

  Ledger* ledger_ = nullptr;  // null: without privacy
  Purse purse_;
  std::string run_;
  Bits* bits_ = nullptr;
};

}  // namespace parley::privacy
