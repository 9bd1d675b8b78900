// Numbers from bytes that anyone may have sent.
#pragma once
#include <cstddef>

namespace parley::wire {

// Copies `size` numbers from bytes that need not be aligned. Whether all of them are finite.
bool copy_finite(const char* from, std::size_t size, double* to);
bool copy_finite(const char* from, std::size_t size, float* to);

}  // namespace parley::wire
