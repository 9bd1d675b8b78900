#include "parley/secure/handshake.h"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "parley/secure/openssl.h"

namespace parley::secure {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{2};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&&) = delete;
  [[nodiscard]] int number() const { return descriptor_; }
  [[nodiscard]] bool ready(short what, Clock::time_point until) const {
    pollfd watched{descriptor_, what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    return left > 0 && ::poll(&watched, 1, static_cast<int>(left)) == 1;
  }

 private:
  int descriptor_;
};

Socket dialled(const std::string& address, Clock::time_point until) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &wanted, &found) != 0) return Socket(-1);
  const Owned<addrinfo, ::freeaddrinfo> freed(found);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) continue;
    int error = 0;
    socklen_t size = sizeof error;
    if (::connect(socket.number(), one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) continue;
    if (socket.ready(POLLOUT, until) && ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
        error == 0)
      return socket;
  }
  return Socket(-1);
}

// As gRPC dials: HTTP/2, with a certificate of its own.
Context context_of(const std::string& authority, const KeyPair& own) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return nullptr;
  const Memory roots = text_of(authority);
  while (const Certificate root = next_certificate(roots))
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), root.get());
  const Certificate certificate = certificate_in(own.certificate);
  const Key key = key_in(own.key);
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  const bool good = certificate != nullptr && key != nullptr &&
                    SSL_CTX_use_certificate(context.get(), certificate.get()) == 1 &&
                    SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                    SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2) == 0;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return good ? std::move(context) : nullptr;
}

std::string doubt_about_them(long found, const std::string& expected) {
  const std::string theirs = "the certificate of whoever answers ";
  switch (found) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return theirs + "has expired, by the clock of this machine";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return theirs + "is not valid yet; is the clock of this machine right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return theirs + fmt::format("is not for the name '{}'", expected);
    case X509_V_ERR_INVALID_PURPOSE:
      return theirs + "is a party's, not a coordinator's";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return theirs + "is not from the authority in ca.pem";
    default:
      return theirs + fmt::format("is not trusted here: {}", X509_verify_cert_error_string(found));
  }
}

// The other side has shown a certificate that is trusted here, has been shown ours, and has hung up. Its alert says
// why, if there was one. gRPC sends none; then the two certificates tell.
std::string doubt_about_us(const SSL& session, int alert) {
  const std::string ours = "whoever answers does not trust this site's certificate: ";
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(&session);
  const X509* authority = chain == nullptr ? nullptr : sk_X509_value(chain, sk_X509_num(chain) - 1);
  X509* own = SSL_get_certificate(&session);
  if (alert < 0 && authority != nullptr && own != nullptr) {
    if (X509_verify(own, X509_get0_pubkey(authority)) != 1) return ours + "it is not from their authority";
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) return ours + "it has expired";
    return "whoever answers hangs up when shown this site's certificate, and nothing that can be seen here is wrong "
           "with "
           "it: their ca.pem is from another authority, the clock of their machine is wrong, or they are shutting down";
  }
  switch (alert) {
    case SSL_AD_UNKNOWN_CA:
      return ours + "it is not from the authority that they know";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return ours + "it, or their ca.pem, has expired by the clock of their machine";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_ACCESS_DENIED:
      return ours + SSL_alert_desc_string_long(alert);
    default:
      return "";
  }
}

// A peer that hangs up while we write must not end this process: OpenSSL writes to sockets as to files.
class WithoutBrokenPipes {
 public:
  WithoutBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutBrokenPipes() {
    const timespec at_once{};
    while (!sigismember(&before_, SIGPIPE) && ::sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipes(const WithoutBrokenPipes&) = delete;
  WithoutBrokenPipes& operator=(const WithoutBrokenPipes&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

Handshake shake_hands(const std::string& address, const std::string& authority, const KeyPair& own,
                      const std::string& expected) {
  const auto until = Clock::now() + kPatience;
  const WithoutBrokenPipes safely;
  const Context context = context_of(authority, own);
  const Session session(context != nullptr ? SSL_new(context.get()) : nullptr);
  const Socket socket = dialled(address, until);
  Handshake met;
  std::string& doubt = met.doubt;
  if (session != nullptr && socket.number() >= 0 && SSL_set_fd(session.get(), socket.number()) == 1 &&
      SSL_set_tlsext_host_name(session.get(), expected.c_str()) == 1 &&
      SSL_set1_host(session.get(), expected.c_str()) == 1) {
    int alert = -1;
    SSL_set_ex_data(session.get(), 0, &alert);
    SSL_set_info_callback(session.get(), [](const SSL* about, int where, int what) {
      if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) *static_cast<int*>(SSL_get_ex_data(about, 0)) = what & 0xff;
    });
    bool shaken = false, spoken = false, ended = false;
    while (!spoken) {
      // A peer that does not trust our certificate says so after the handshake is over for us; others speak HTTP/2.
      char heard = 0;
      const int done = shaken ? SSL_read(session.get(), &heard, 1) : SSL_connect(session.get());
      if (done == 1) {
        spoken = std::exchange(shaken, true);
        continue;
      }
      const int wants = SSL_get_error(session.get(), done);
      ended = wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE;
      if (ended) break;
      if (!socket.ready(wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until)) break;
    }
    if (const long found = SSL_get_verify_result(session.get()); found != X509_V_OK)
      doubt = doubt_about_them(found, expected);
    else if (shaken && ended)
      doubt = doubt_about_us(*session, alert);
    met.reached = shaken && doubt.empty() && !ended;
    if (const Certificate shown(SSL_get1_peer_certificate(session.get())); shown != nullptr)
      met.certificate = to_pem([&](BIO* out) { return PEM_write_bio_X509(out, shown.get()); }).value_or(std::string());
  }
  ERR_clear_error();
  return met;
}

std::string doubt_of(const std::string& address, const std::string& authority, const KeyPair& own,
                     const std::string& expected) {
  return shake_hands(address, authority, own, expected).doubt;
}

}  // namespace parley::secure
