// How many files and connections this process may have open.
#pragma once
#include <cstddef>

namespace parley {

// Raises the limit as far as the system lets a process raise it by itself, and says what it is now.
std::size_t raise_descriptor_limit();
std::size_t descriptor_limit();
std::size_t open_descriptors();  // now

}  // namespace parley
