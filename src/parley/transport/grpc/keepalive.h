// How both ends notice that the other is gone without having said so.
#pragma once
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <array>
#include <chrono>
#include <utility>

namespace parley::transport {

// The other side is asked when it has been silent for that long, and is given as long again to answer.
inline std::array<std::pair<const char*, int>, 5> keepalive(std::chrono::milliseconds silence) {
  const int time = static_cast<int>(silence.count());
  return {{{GRPC_ARG_KEEPALIVE_TIME_MS, time},
           {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, time},
           {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
           {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
           {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, time / 2}}};
}

// gRPC prints to stderr on its own; what matters is returned as errors.
inline void keep_quiet() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace parley::transport
