// Which accountants there are (accountant.h says what each of them does).
#pragma once
#include <array>
#include <string_view>

namespace parley::privacy {

enum class Accountant { kBasic, kKov, kZcdp, kRdp, kPld, kBest };
inline constexpr std::array kAccountants{Accountant::kBasic, Accountant::kKov, Accountant::kZcdp, Accountant::kRdp,
                                         Accountant::kPld};
std::string_view name(Accountant accountant);  // "basic", "kov", "zcdp", "rdp", "pld", "best"

}  // namespace parley::privacy
