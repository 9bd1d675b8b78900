set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(PARLEY_WARNINGS_AS_ERRORS "Turn warnings into errors" OFF)
option(PARLEY_FUZZ "Build only the libFuzzer targets (clang)" OFF)
option(PARLEY_BENCH "Build the benchmarks" OFF)
set(PARLEY_SANITIZE "" CACHE STRING "Comma-separated sanitizers: address,undefined | thread")

# Invariants stay checked in every build: a broken one must stop a run, not corrupt it.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# Results must not depend on the compiler contracting a*b+c on one machine and not on another;
# kernels that want fused operations ask for them by name. The -Wno after it are false alarms of GCC 12 in string code.
add_compile_options(-Wall -Wextra -Wshadow -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> -ffp-contract=off)
if(PARLEY_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  # -O1 keeps the sanitized suite quick while traces stay readable.
  add_compile_options(-O1)
endif()
if(PARLEY_SANITIZE)
  add_compile_options(-fsanitize=${PARLEY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PARLEY_SANITIZE})
endif()
if(PARLEY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
