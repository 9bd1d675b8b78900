// Which vector instructions the kernels use: the best the machine has, unless the environment
// variable PARLEY_CPU (baseline, avx2, avx512) or a test asks for less.
//
// Sums are associated differently at each level, so results agree between levels to rounding only;
// at one level they are the same bits for any number of threads.
#pragma once
#include <string_view>

namespace parley::linalg {

enum class CpuLevel { kBaseline, kAvx2, kAvx512 };

CpuLevel best_cpu_level();            // of this machine
CpuLevel cpu_level();                 // in use
void set_cpu_level(CpuLevel wanted);  // levels the machine lacks become its best
std::string_view name(CpuLevel level);

}  // namespace parley::linalg
