#include "parley/privacy/accounting/loss_spectrum.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace parley::privacy::accounting {
namespace {

using Complex = std::complex<double>;

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr double kNegligibleLog = -90;

// Plans (tables of roots of unity) are kept: they cost more than a transform.
Eigen::FFT<double>& transform_of_this_thread() {
  thread_local Eigen::FFT<double> transform = [] {
    Eigen::FFT<double> made;
    made.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    return made;
  }();
  return transform;
}

struct Spectrum {
  std::vector<Complex> value;
  double error = 0;  // 2-norm of its rounding error
  double count = 0;
};

double squared_norm(const std::vector<double>& signal) {
  double norm = 0;
  for (const double w : signal) norm += w * w;
  return norm;
}

// Each law is centred first, so phases stay small where the product is large. `signal` is scratch.
Spectrum spectrum_of(const CentredLaw& given, double relative, std::vector<double>& signal) {
  const auto size = static_cast<std::int64_t>(signal.size());
  std::fill(signal.begin(), signal.end(), 0.0);
  std::int64_t at = (given.law.first - given.shift) % size;
  if (at < 0) at += size;
  for (const double w : given.law.weight) {
    signal[static_cast<std::size_t>(at)] += w;
    if (++at == size) at = 0;
  }
  Spectrum own;
  own.error = relative * std::sqrt(squared_norm(signal) * static_cast<double>(size));
  own.count = given.count;
  own.value.resize(signal.size() / 2 + 1);
  transform_of_this_thread().fwd(own.value, signal);
  return own;
}

// G = prod F^k. Returns the sum over frequencies of its error.
double product_of_powers(const std::vector<Spectrum>& spectra, double steps, std::vector<Complex>& product) {
  std::vector<double> squares(spectra.size(), 0.0);
  double total_size = 0, neglected = 0;
  // One law: the same test without a logarithm.
  const double quick = spectra.size() == 1 && spectra[0].count > 1
                           ? std::exp(kNegligibleLog / (spectra[0].count - 1)) - spectra[0].error
                           : 0;
  for (std::size_t f = 0; f < product.size(); ++f) {
    if (quick > 0 && std::norm(spectra[0].value[f]) < quick * quick) {
      neglected += std::exp(kNegligibleLog) * steps;
      continue;
    }
    double widened = 0, least_own = 0;
    for (const Spectrum& own : spectra) {
      const double log_widened = std::log(std::sqrt(std::norm(own.value[f])) + own.error);
      widened += own.count * log_widened;
      least_own = std::min(least_own, log_widened);
    }
    if (widened - least_own < kNegligibleLog) {
      neglected += std::exp(kNegligibleLog) * steps;
      continue;
    }
    double log_size = 0, phase = 0;
    for (std::size_t p = 0; p < spectra.size(); ++p) {
      const Spectrum& own = spectra[p];
      const double magnitude = 0.5 * std::log(std::max(std::norm(own.value[f]), 1e-300));
      log_size += own.count * magnitude;
      phase += std::remainder(own.count * std::arg(own.value[f]), 2 * std::numbers::pi);
      const double others = widened - std::log(std::sqrt(std::norm(own.value[f])) + own.error);
      squares[p] += 2 * std::exp(2 * others);
    }
    const double magnitude = std::exp(log_size);
    total_size += 2 * magnitude;
    product[f] = {magnitude * std::cos(phase), magnitude * std::sin(phase)};
  }
  double error = 2 * neglected;
  for (std::size_t p = 0; p < spectra.size(); ++p)
    error += spectra[p].count * (spectra[p].error * std::sqrt(squares[p]) + 8 * kUnit * total_size);
  return error;
}

}  // namespace

std::int64_t transform_size(double size) {
  std::int64_t best = kLargestTransform;
  for (const std::int64_t odd : {1, 3, 5, 9, 15, 25}) {
    std::int64_t n = 256 * odd;
    while (static_cast<double>(n) < size) n *= 2;
    best = std::min(best, n);
  }
  return best;
}

ComposedMasses composed(std::span<const CentredLaw> laws, std::int64_t size) {
  // Kept between calls: fresh memory of this size costs about as much as what is computed in it.
  thread_local std::vector<double> signal;
  thread_local std::vector<Complex> product;
  signal.resize(static_cast<std::size_t>(size));
  product.assign(signal.size() / 2 + 1, Complex(0));
  const double relative = 12 * kUnit * std::log2(static_cast<double>(size));

  std::vector<Spectrum> spectra;
  double steps = 0, lost = 0;
  for (const CentredLaw& law : laws) {
    spectra.push_back(spectrum_of(law, relative, signal));
    steps += law.count;
    lost += law.count * law.law.lost;
  }
  double error = product_of_powers(spectra, steps, product);
  error /= static_cast<double>(size);
  transform_of_this_thread().inv(signal, product, static_cast<Eigen::Index>(size));
  // What one step's weights lost to underflow is at most this share of the composed law.
  error += relative * std::sqrt(squared_norm(signal)) + lost;
  return {signal, error};
}

}  // namespace parley::privacy::accounting
