# Headers that nearly every file reads are parsed once, for `first`, and `target` reads what came of it: about a second
# for each file. Both need the same flags. Files include what they use all the same.
set(PARLEY_SEEN_EVERYWHERE <algorithm> <cmath> <cstdint> <functional> <memory> <optional> <span> <string> <string_view>
    <utility> <vector> <fmt/format.h>)
function(parley_parse_once target first)
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# parley_layer(NAME SOURCES a.cpp ... [USES layers...] [LIBRARIES public...] [PRIVATE private...] [FUZZED] [QUICK headers...])
# One folder, one layer, one static library parley_NAME. USES may name lower layers only;
# scripts/check_layers.py checks the includes against the same table.
# FUZZED: fuzzers see which of its lines ran. QUICK: nothing in it takes time, so it is compiled quickly instead, and these
# headers, which are slow to read, are read once.
function(parley_layer name)
  cmake_parse_arguments(ARG "FUZZED" "" "SOURCES;USES;LIBRARIES;PRIVATE;QUICK" ${ARGN})
  add_library(parley_${name} STATIC ${ARG_SOURCES})
  target_include_directories(parley_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(layer ${ARG_USES})
    target_link_libraries(parley_${name} PUBLIC parley_${layer})
  endforeach()
  target_link_libraries(parley_${name} PUBLIC ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE})
  set(same_flags parley_core)  # the lowest layer that is compiled as this one is
  if(ARG_FUZZED AND PARLEY_FUZZ)
    target_compile_options(parley_${name} PRIVATE -fsanitize=fuzzer-no-link)
  elseif(PARLEY_FUZZ)
    set(same_flags parley_linalg)
  endif()
  if(ARG_QUICK)
    target_compile_options(parley_${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
    set(same_flags parley_${name})
  endif()
  parley_parse_once(parley_${name} ${same_flags} ${PARLEY_SEEN_EVERYWHERE} ${ARG_QUICK})
endfunction()

add_custom_target(unit_tests)  # every GoogleTest program of a layer

# parley_tests(LAYER SOURCES ... [USES other layers]): one GoogleTest program per layer.
function(parley_tests layer)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_executable(test_${layer} ${ARG_SOURCES})
  target_link_libraries(test_${layer} PRIVATE parley_${layer} GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LIBRARIES})
  foreach(other ${ARG_USES})
    target_link_libraries(test_${layer} PRIVATE parley_${other})
  endforeach()
  # The code under test is optimised; the test's own code is compiled quickly instead.
  target_compile_options(test_${layer} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
  target_compile_definitions(test_${layer} PRIVATE PARLEY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  parley_parse_once(test_${layer} test_core ${PARLEY_SEEN_EVERYWHERE} <gtest/gtest.h>)
  add_dependencies(unit_tests test_${layer})
  add_test(NAME ${layer} COMMAND test_${layer})
  # The thread sanitizer leaves out what libraries that were not compiled for it do among themselves.
  set(leaks LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/leaks_not_ours.txt:print_suppressions=0)
  set_tests_properties(${layer} PROPERTIES LABELS unit ENVIRONMENT
    "${leaks};TSAN_OPTIONS=ignore_noninstrumented_modules=1;PARLEY_ACCOUNTANTS_MUST_AGREE=1")
endfunction()
