// A federation on loopback: certificates, a coordinator, parties in threads of their own.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "parley/rounds/handler.h"
#include "parley/secure/certificates.h"
#include "parley/transport/grpc/client.h"
#include "parley/transport/grpc/server.h"
#include "parley/wire/frame.h"

namespace parley::tests {

inline const secure::KeyPair& authority() {
  static const secure::KeyPair made = *secure::make_authority("study", {});
  return made;
}
inline transport::Credentials credentials(const std::string& name, const secure::KeyPair& signer = authority()) {
  const auto pair = secure::issue(signer, name, {});
  return {signer.certificate, pair->certificate, pair->key};
}
inline std::string loopback(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

inline std::unique_ptr<transport::GrpcServer> listen(const std::vector<std::string>& parties,
                                                     std::size_t limit = wire::kDefaultLimit) {
  auto server = transport::GrpcServer::listen({loopback(0), credentials("coordinator"), parties, limit});
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

// Answers with `respond` until stopped or until `finished`.
class Dialled {
 public:
  Dialled(int port, const transport::Credentials& as, transport::Respond respond, std::function<bool()> finished = {})
      : client_({loopback(port), as, wire::kDefaultLimit, std::move(finished), {}}),
        thread_([this, respond = std::move(respond)] { result = client_.serve(respond); }) {}
  ~Dialled() {
    client_.stop();
    wait();
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  Result<void> result;

 private:
  transport::GrpcClient client_;
  std::thread thread_;
};

// A party that takes part in one run.
class Site {
 public:
  Site(int port, const transport::Credentials& as, rounds::Admit admit)
      : handler_(std::move(admit), ""),
        dialled_(
            port, as, [this](std::string_view frame) { return handler_.respond(frame); },
            [this] { return handler_.over(); }) {}
  Result<void> wait() {
    dialled_.wait();
    return dialled_.result;
  }

 private:
  rounds::Handler handler_;
  Dialled dialled_;
};

}  // namespace parley::tests
