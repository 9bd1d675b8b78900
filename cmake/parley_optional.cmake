# What a machine may lack. AUTO: used if it is found; ON: must be found; OFF: left out. In a build without it the verbs
# that need it say what is missing (apps/parley/without_*.cpp).
set(PARLEY_WITH_GRPC AUTO CACHE STRING "Parties on several machines, over gRPC: AUTO, ON or OFF")
set(PARLEY_WITH_MPI AUTO CACHE STRING "Parties as ranks of an MPI program: AUTO, ON or OFF")
set(PARLEY_TESTS AUTO CACHE STRING "The tests, which need GoogleTest: AUTO, ON or OFF")

# parley_required(RESULT SETTING): REQUIRED in RESULT when the setting is ON, and nothing when it is AUTO.
function(parley_required result setting)
  set(${result} "" PARENT_SCOPE)
  if(NOT setting STREQUAL "AUTO")
    set(${result} REQUIRED PARENT_SCOPE)
  endif()
endfunction()

# Sets PARLEY_GRPC, PARLEY_MPI and PARLEY_TESTED to what this build has.
set(PARLEY_GRPC FALSE)
if(PARLEY_WITH_GRPC)
  parley_required(required ${PARLEY_WITH_GRPC})
  find_library(GRPCPP_LIBRARY grpc++ ${required})
  find_library(GRPC_LIBRARY grpc ${required})
  find_library(GPR_LIBRARY gpr ${required})
  find_library(ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization ${required})  # gRPC's headers use it
  if(GRPCPP_LIBRARY AND GRPC_LIBRARY AND GPR_LIBRARY AND ABSL_SYNCHRONIZATION_LIBRARY)
    set(PARLEY_GRPC TRUE)
  endif()
endif()
set(PARLEY_MPI FALSE)
if(PARLEY_WITH_MPI)
  parley_required(required ${PARLEY_WITH_MPI})
  find_package(MPI QUIET ${required} COMPONENTS CXX)
  set(PARLEY_MPI ${MPI_CXX_FOUND})
endif()
set(PARLEY_TESTED FALSE)
if(PARLEY_TESTS)
  parley_required(required ${PARLEY_TESTS})
  find_package(GTest QUIET ${required})
  set(PARLEY_TESTED ${GTest_FOUND})
endif()
message(STATUS "gRPC: ${PARLEY_GRPC}, MPI: ${PARLEY_MPI}, tests: ${PARLEY_TESTED}")
