set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(PARLEY_WARNINGS_AS_ERRORS "Turn warnings into errors" OFF)
option(PARLEY_FUZZ "Build the libFuzzer targets too (clang)" OFF)
option(PARLEY_TOGETHER "Compile files together where that saves time (cmake/parley_layer.cmake)" ON)
set(PARLEY_SANITIZE "" CACHE STRING "Comma-separated sanitizers: address,undefined | thread")

# Invariants stay checked in every build: a broken one must stop a run, not corrupt it.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

add_compile_options(-Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)  # false alarms in string code
else()
  # clang does not know every pragma and target name that is there for GCC.
  add_compile_options(-Wno-unknown-pragmas -Wno-unknown-warning-option -Wno-ignored-attributes)
  # The time of day in a precompiled header would keep ccache from finding anything that read it.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
# Results must not depend on the compiler contracting a*b+c on one machine and not on another;
# kernels that want fused operations ask for them by name.
add_compile_options(-ffp-contract=off)
# Where a loop begins decides up to a tenth of its speed; without this it depends on the code before it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<CONFIG:Release>:-falign-functions=64> $<$<CONFIG:Release>:-falign-loops=32>)
endif()
if(PARLEY_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  # -O1 keeps the sanitized suite quick while traces stay readable; lines are all the traces need.
  add_compile_options(-O1 -g1)
endif()
if(PARLEY_SANITIZE)
  add_compile_options(-fsanitize=${PARLEY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PARLEY_SANITIZE})
endif()
