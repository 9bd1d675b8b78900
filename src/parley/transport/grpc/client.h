// A party's end over gRPC: it dials out to the coordinator, so a site opens no port. One stream, kept as long
// as it lasts and dialled again, ever more patiently, when it breaks.
//
// The coordinator must show a certificate of the federation's authority for the name "coordinator", wherever
// it listens.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "parley/core/result.h"
#include "parley/transport/channel.h"
#include "parley/transport/grpc/server.h"

namespace parley::transport {

inline constexpr const char* kCoordinator = "coordinator";

// Of the connection, for people.
struct DialEvent {
  enum class What {
    kConnected,
    kUnreachable,  // so far
    kEnded,        // by the coordinator; it is dialled again
    kLost,         // likewise
  };
  What what = What::kConnected;
  std::string address;
  std::string why;  // of kUnreachable
  bool operator==(const DialEvent&) const = default;
};
std::string in_words(const DialEvent& event);

struct Dialing {
  std::string address;
  Credentials credentials;
  std::size_t limit = std::size_t{1} << 30;
  std::function<bool()> finished;  // looked at after each frame
  std::function<void(const DialEvent&)> notice;
  std::function<void()> lost;                  // a connection over which something came is gone; it is dialled again
  std::chrono::milliseconds keepalive{20000};  // likewise for the coordinator
  // Asked when whoever answers hangs up during or after the handshake. Says in words what is wrong with a certificate;
  // empty: nothing is.
  std::function<std::string()> why_not;
  std::chrono::milliseconds first_pause{50};  // before it is dialled again; twice as long each time, to five seconds
};

class GrpcClient {
 public:
  explicit GrpcClient(Dialing dialing);
  ~GrpcClient();

  // Answers frames until finished() or stop(). An error only when the coordinator turns this party away, or another
  // daemon of its name has taken its place.
  Result<void> serve(const Respond& respond);
  void stop();  // from any thread

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace parley::transport
