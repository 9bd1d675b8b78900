// The coordinator's end over gRPC: parties dial in, one long-lived stream each, mutual TLS always.
//
// A party's certificate (common name), signed by the federation's authority, says who it is; anyone else is turned
// away. A party that dials in again replaces its old connection, which may be half open; if it is not, there are two
// daemons of one name, and the one that is replaced hears of it and ends: else they would push each other out for ever.
// Connections of strangers are bounded in number and time (front.h). A party that sends faster than it is read is read
// no further, so it can make us hold one frame of the limit and a few small ones; one that does not read what is sent
// to it is disconnected.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/transport/channel.h"
#include "parley/transport/grpc/credentials.h"

namespace parley::transport {

struct Listening {
  std::string address;  // "host:port"; port 0: the system chooses
  Credentials credentials;
  std::vector<std::string> parties;
  std::size_t limit = std::size_t{1} << 28;    // of a frame, until another is set
  std::chrono::milliseconds keepalive{20000};  // a party that is silent for so long is asked whether it is there
  std::chrono::milliseconds patience{20000};   // in which whoever connects has shown that it is a party
  std::size_t strangers = 256;                 // that have not shown it yet; fewer where descriptors are few
};

class GrpcServer final : public Channel {
 public:
  static Result<std::unique_ptr<GrpcServer>> listen(Listening listening);
  ~GrpcServer() override;  // what was sent is delivered first, as far as that does not take long

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int parties() const override;
  void send(std::span<const int> parties, const SharedFrame& frame) override;
  std::optional<Arrival> receive(Clock::time_point deadline) override;
  void drop(int party) override;
  void limit(std::size_t bytes) override;
  void wake() override;

 private:
  struct Core;
  explicit GrpcServer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
  int port_ = 0;
};

}  // namespace parley::transport
