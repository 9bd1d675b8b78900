// The same round as rounds_bench over gRPC with mutual TLS, written straight against gRPC: one synchronous stream and
// one thread per client, raw bytes, nothing checked, nothing kept. What the runtime is measured against.
//
//   rounds_bare server FLOATS ROUNDS CLIENTS FOLDER
//   rounds_bare client PORT NAME FLOATS FOLDER
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Floats = std::vector<float>;
using grpc::ByteBuffer;
using Clock = std::chrono::steady_clock;
constexpr const char* kMethod = "/bare.Sum/Round";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ByteBuffer to_bytes(const Floats& values) {
  const grpc::Slice slice(values.data(), values.size() * sizeof(float));
  return ByteBuffer(&slice, 1);
}
void from_bytes(const ByteBuffer& bytes, Floats& values) {
  std::vector<grpc::Slice> slices;
  (void)bytes.Dump(&slices);
  values.resize(bytes.Length() / sizeof(float));
  auto* to = reinterpret_cast<char*>(values.data());
  for (const grpc::Slice& slice : slices) to = std::copy(slice.begin(), slice.end(), to);
}

class Sum final : public grpc::Service {
 public:
  Sum(std::size_t floats, int rounds, int clients)
      : mean_(floats, 1.0F),
        replies_(static_cast<std::size_t>(clients)),
        rounds_(rounds),
        everyone_(clients, [this]() noexcept { average(); }) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
        new grpc::internal::BidiStreamingHandler<Sum, ByteBuffer, ByteBuffer>(
            [](Sum* self, grpc::ServerContext*, grpc::ServerReaderWriter<ByteBuffer, ByteBuffer>* stream) {
              return self->serve(stream);
            },
            this)));
  }
  grpc::Status serve(grpc::ServerReaderWriter<ByteBuffer, ByteBuffer>* stream) {
    const std::size_t seat = seats_++;
    ByteBuffer message;
    everyone_.arrive_and_wait();
    for (int round = 0; round < rounds_; ++round) {
      stream->Write(to_bytes(mean_));
      if (!stream->Read(&message)) break;
      from_bytes(message, replies_[seat]);
      everyone_.arrive_and_wait();
    }
    return grpc::Status::OK;
  }
  [[nodiscard]] double median() {
    std::vector<double> laps;
    for (std::size_t i = times_.size() / 10 + 1; i < times_.size(); ++i)
      laps.push_back(std::chrono::duration<double, std::milli>(times_[i] - times_[i - 1]).count());
    std::nth_element(laps.begin(), laps.begin() + static_cast<std::ptrdiff_t>(laps.size() / 2), laps.end());
    return laps[laps.size() / 2];
  }
  [[nodiscard]] bool over() const { return times_.size() > static_cast<std::size_t>(rounds_); }

 private:
  void average() noexcept {
    if (!times_.empty()) {
      std::fill(mean_.begin(), mean_.end(), 0.0F);
      const float share = 1.0F / static_cast<float>(replies_.size());
      for (const Floats& reply : replies_)
        for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += share * reply[j];
    }
    times_.push_back(Clock::now());
  }
  Floats mean_;
  std::vector<Floats> replies_;
  int rounds_;
  std::atomic<std::size_t> seats_ = 0;
  std::vector<Clock::time_point> times_;
  std::barrier<std::function<void()>> everyone_;
};

int serve(std::size_t floats, int rounds, int clients, const std::string& folder) {
  Sum sum(floats, rounds, clients);
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = read(folder + "/ca.pem");
  tls.pem_key_cert_pairs.push_back({read(folder + "/coordinator.key"), read(folder + "/coordinator.pem")});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port);
  builder.RegisterService(&sum);
  builder.SetMaxReceiveMessageSize(-1);
  const auto server = builder.BuildAndStart();
  std::printf("port %d\n", port);
  std::fflush(stdout);
  std::string line;
  std::getchar();  // whoever started this closes our input when the clients are done
  std::printf("%.4f\n", sum.median());
  server->Shutdown(std::chrono::system_clock::now());
  return sum.over() ? 0 : 1;
}

int join(int port, const std::string& name, std::size_t floats, const std::string& folder) {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("coordinator");
  arguments.SetMaxReceiveMessageSize(-1);
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                grpc::SslCredentials({read(folder + "/ca.pem"), read(folder + "/" + name + ".key"),
                                                      read(folder + "/" + name + ".pem")}),
                                arguments);
  grpc::ClientContext context;
  const grpc::internal::RpcMethod method(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING, channel);
  const std::unique_ptr<grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::Create(channel.get(), method, &context));
  const Floats own(floats, 0.25F);
  Floats mean;
  Floats reply(floats);
  ByteBuffer message;
  while (stream->Read(&message)) {
    from_bytes(message, mean);
    for (std::size_t j = 0; j < mean.size(); ++j) reply[j] = 0.5F * mean[j] + own[j];
    stream->Write(to_bytes(reply));
  }
  return stream->Finish().ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return std::atoi(words.at(i).c_str()); };
  if (words.at(0) == "server") return serve(static_cast<std::size_t>(number(1)), number(2), number(3), words.at(4));
  return join(number(1), words.at(2), static_cast<std::size_t>(number(3)), words.at(4));
}
