#include "parley/linalg/public_random.h"

#include <cmath>

namespace parley::linalg {

namespace {

// log x by 2 artanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt 2): additions, products and one
// division, which every IEEE machine rounds alike.
double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double series = 1.0 / 21;
  for (int k = 19; k >= 1; k -= 2) series = series * square + 1.0 / k;
  return exponent * 0.69314718055994530942 + 2 * s * series;
}

template <std::size_t kTerms>
double polynomial(const double (&coefficients)[kTerms], double x) {
  double sum = coefficients[kTerms - 1];
  for (std::size_t k = kTerms - 1; k-- > 0;) sum = sum * x + coefficients[k];
  return sum;
}

}  // namespace

std::array<std::uint64_t, 2> PublicRandom::block(std::uint64_t stream, std::uint64_t number) const {
  auto c0 = static_cast<std::uint32_t>(number), c1 = static_cast<std::uint32_t>(number >> 32);
  auto c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  auto k0 = static_cast<std::uint32_t>(seed_), k1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(second);
    c2 = static_cast<std::uint32_t>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(first);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0 | std::uint64_t{c1} << 32, c2 | std::uint64_t{c3} << 32};
}

double PublicRandom::normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    constexpr double kOver[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double kUnder[] = {1.0,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3};
    const double r = 0.180625 - q * q;
    return q * polynomial(kOver, r) / polynomial(kUnder, r);
  }
  const double tail = std::sqrt(-logarithm(q < 0 ? p : 1 - p));
  double x = 0;
  if (tail <= 5) {
    constexpr double kOver[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double kUnder[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
    x = polynomial(kOver, tail - 1.6) / polynomial(kUnder, tail - 1.6);
  } else {
    constexpr double kOver[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double kUnder[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
    x = polynomial(kOver, tail - 5) / polynomial(kUnder, tail - 5);
  }
  return q < 0 ? -x : x;
}

}  // namespace parley::linalg
