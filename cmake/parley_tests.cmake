# Every test file is an entry of ctest, named after its path below tests/. Labels: what it is (unit, cli, fuzz, checks),
# and `quick` or `slow`. A file that takes more than two seconds says so where it is written, in a line of its own:
#   // labels: slow
# (# in Python). `threads`: threads meet there, so that the thread sanitizer watches it. A line counts for the file; the
# word LABELS of parley_tests for all files of the folder.

add_custom_target(unit_tests)     # every GoogleTest program
add_custom_target(threads_tests)  # those with a file that is labelled `threads`

# parley_label(TEST FILE LABELS...): gives the entry these labels and those that its file states. Slow ones start first,
# so that none is left running alone at the end.
function(parley_label test file)
  file(STRINGS ${file} stated LIMIT_COUNT 1 REGEX "^(//|#) labels: ")
  string(REGEX REPLACE "^(//|#) labels: " "" stated "${stated}")
  separate_arguments(stated)
  set(labels ${ARGN} ${stated})
  if("slow" IN_LIST labels)
    set_tests_properties(${test} PROPERTIES COST 100)
  else()
    list(APPEND labels quick)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}")
endfunction()

# The main program of all of them, which knows --file=; compiled once.
add_library(test_main STATIC ${CMAKE_SOURCE_DIR}/tests/support/main.cpp)
target_link_libraries(test_main PUBLIC GTest::gtest GTest::gmock)
target_include_directories(test_main PUBLIC ${CMAKE_SOURCE_DIR})

# parley_tests(LAYER SOURCES ... [USES other layers] [LIBRARIES ...] [LABELS ...]): one GoogleTest program for the
# layer, one entry of ctest for each *_test.cpp.
function(parley_tests layer)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES;LABELS" ${ARGN})
  add_executable(test_${layer} ${ARG_SOURCES})
  target_link_libraries(test_${layer} PRIVATE parley_${layer} test_main ${ARG_LIBRARIES})
  foreach(other ${ARG_USES})
    target_link_libraries(test_${layer} PRIVATE parley_${other})
  endforeach()
  # The code under test is optimised; the test's own code is compiled quickly instead.
  target_compile_options(test_${layer} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
  target_compile_definitions(test_${layer} PRIVATE PARLEY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(PARLEY_SANITIZE)
    target_compile_definitions(test_${layer} PRIVATE PARLEY_SANITIZED)
  endif()
  parley_parse_once(test_${layer} test_core ${PARLEY_SEEN_EVERYWHERE} <gtest/gtest.h>)
  add_dependencies(unit_tests test_${layer})
  # The thread sanitizer leaves out what libraries that were not compiled for it do among themselves.
  set(environment LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/leaks_not_ours.txt:print_suppressions=0
      TSAN_OPTIONS=ignore_noninstrumented_modules=1 PARLEY_ACCOUNTANTS_MUST_AGREE=1)
  foreach(source ${ARG_SOURCES})
    if(NOT source MATCHES "_test\\.cpp$")
      continue()
    endif()
    file(RELATIVE_PATH test ${CMAKE_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    string(REGEX REPLACE "\\.cpp$" "" test ${test})
    add_test(NAME ${test} COMMAND test_${layer} --file=/tests/${test}.cpp)
    parley_label(${test} ${CMAKE_CURRENT_SOURCE_DIR}/${source} unit ${ARG_LABELS})
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment}")
    get_test_property(${test} LABELS labels)
    if("threads" IN_LIST labels)
      add_dependencies(threads_tests test_${layer})
    endif()
  endforeach()
endfunction()
