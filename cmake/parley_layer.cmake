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

# parley_layer(NAME SOURCES a.cpp ... [USES layers...] [LIBRARIES public...] [PRIVATE private...] [FUZZED]
#              [QUICK headers...] [TOGETHER a.cpp ... | ALL])
# One folder, one layer, one static library parley_NAME. USES may name lower layers only;
# scripts/check_layers.py checks the includes against the same table.
# FUZZED: fuzzers see which of its lines ran. QUICK: nothing in it takes time, so it is compiled quickly instead, and
# these headers, which are slow to read, are read once. TOGETHER: files that hold no inner loop and share their headers
# and templates are compiled six at a time, each template once. Two of them may not use one name for two things.
# `-DPARLEY_TOGETHER=OFF` compiles each on its own.
function(parley_layer name)
  cmake_parse_arguments(ARG "FUZZED" "" "SOURCES;USES;LIBRARIES;PRIVATE;QUICK;TOGETHER" ${ARGN})
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
  if(ARG_TOGETHER STREQUAL "ALL")
    set(ARG_TOGETHER ${ARG_SOURCES})
  endif()
  if(ARG_TOGETHER AND PARLEY_TOGETHER)
    set(alone ${ARG_SOURCES})
    list(REMOVE_ITEM alone ${ARG_TOGETHER})
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set_target_properties(parley_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  parley_parse_once(parley_${name} ${same_flags} ${PARLEY_SEEN_EVERYWHERE} ${ARG_QUICK})
endfunction()
