#include "parley/transport/grpc/front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

namespace parley::transport {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kHandshake = 0x16;             // how a TLS connection begins
constexpr int kAtOnce = 64;                   // accepted before waiting connections are looked at
constexpr int kBreath = 50;                   // milliseconds to wait when there is no room
constexpr std::chrono::seconds kFarewell{3};  // for what is still to be said to a party that dialled in again

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage room;
};

struct Named {
  std::string host;
  std::string peer;  // as gRPC calls it
};

Named name_of(int socket) {
  Address address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, &address.any, &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (address.any.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
    ::inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
    return {text, fmt::format("ipv6:[{}]:{}", text, ntohs(address.v6.sin6_port))};
  }
  if (address.any.sa_family == AF_INET6) {
    ::inet_ntop(AF_INET, address.v6.sin6_addr.s6_addr + 12, text, sizeof text);
    return {text, fmt::format("ipv4:{}:{}", text, ntohs(address.v6.sin6_port))};
  }
  ::inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
  return {text, fmt::format("ipv4:{}:{}", text, ntohs(address.v4.sin_port))};
}

// gRPC writes the brackets of an IPv6 address as a URI has them, and a scope behind it.
std::string plain(const std::string& peer) {
  std::string text;
  for (std::size_t at = 0; at < peer.size(); ++at) {
    if (peer.compare(at, 3, "%5B") == 0 || peer.compare(at, 3, "%5D") == 0) {
      text += peer[at + 2] == 'B' ? '[' : ']';
      at += 2;
    } else if (peer[at] == '%') {
      const std::size_t end = std::min(peer.find("%5D", at), peer.find(']', at));
      if (end == std::string::npos) break;
      at = end - 1;
    } else {
      text += peer[at];
    }
  }
  return text;
}

std::uint64_t cookie_of(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

// -1 when it cannot be listened on.
int listener_at(const addrinfo& found, int port) {
  Address address{};
  std::memcpy(&address, found.ai_addr, found.ai_addrlen);
  const bool v6 = found.ai_family == AF_INET6;
  (v6 ? address.v6.sin6_port : address.v4.sin_port) = htons(static_cast<std::uint16_t>(port));
  const int socket = ::socket(found.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  // A coordinator that is started again listens where it did. Two at once cannot: that takes SO_REUSEPORT.
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (v6) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket, &address.any, found.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0) return socket;
  ::close(socket);
  return -1;
}

int port_of(int socket) {
  Address address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, &address.any, &size) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

}  // namespace

Result<std::unique_ptr<Front>> Front::listen(Door door) {
  const std::size_t colon = door.address.rfind(':');
  std::string host = door.address.substr(0, colon);
  const std::string port = door.address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host == "0.0.0.0") host = "::";  // any address of this machine, of either family
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::unique_ptr<Front> front(new Front(std::move(door)));
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) == 0) {
    int number = std::atoi(port.c_str());
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
      if (const int listener = listener_at(*one, number); listener >= 0) {
        front->listeners_.push_back(listener);
        number = port_of(listener);  // the other addresses of a host get the port that the first one got
      }
    ::freeaddrinfo(found);
    front->port_ = number;
  }
  if (front->listeners_.empty() && host == "::") {  // a machine without IPv6
    Address any{};
    any.v4.sin_family = AF_INET;
    addrinfo v4{};
    v4.ai_family = AF_INET;
    v4.ai_addrlen = sizeof any.v4;
    v4.ai_addr = &any.any;
    if (const int listener = listener_at(v4, std::atoi(port.c_str())); listener >= 0) {
      front->listeners_.push_back(listener);
      front->port_ = port_of(listener);
    }
  }
  front->woken_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (front->listeners_.empty() || front->port_ == 0 || front->woken_ < 0)
    return fail(bad_input({.field = "--listen"}, "cannot be listened on; is the address taken, or not of this machine?",
                          front->door_.address));
  return front;
}

Front::~Front() {
  close();
  for (const int listener : listeners_) ::close(listener);
  if (woken_ >= 0) ::close(woken_);
}

void Front::open(HandOn hand_on) {
  hand_on_ = std::move(hand_on);
  thread_ = std::thread([this] { watch(); });
}

void Front::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  ::eventfd_write(woken_, 1);
  thread_.join();
  for (Connection& connection : connections_)
    if (connection.state == State::kSilent) ::close(connection.descriptor);
  connections_.clear();
}

void Front::is_of(const std::string& peer, int party) {
  const std::string name = plain(peer);
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  for (Connection& connection : connections_) {
    if (connection.state == State::kSilent || connection.state == State::kLeaving) continue;
    if (connection.peer == name) {
      connection.state = State::kOfParty;
      connection.party = party;
    } else if (connection.party == party) {
      connection.state = State::kHandedOn;
      connection.party = -1;
      connection.until = now + kFarewell;
    }
  }
  ::eventfd_write(woken_, 1);
}

// A connection that gRPC has is shut down here, and gRPC closes it.
void Front::turn_away(Connection& connection) {
  if (connection.state == State::kSilent) {
    ::close(connection.descriptor);
    connection.descriptor = -1;
    return;
  }
  if (cookie_of(connection.descriptor) == connection.cookie) ::shutdown(connection.descriptor, SHUT_RDWR);
  connection.state = State::kLeaving;
}

void Front::forget_those_who_left() {
  const auto now = Clock::now();
  for (Connection& connection : connections_) {
    if (connection.state != State::kSilent && cookie_of(connection.descriptor) != connection.cookie)
      connection.descriptor = -1;
    if (connection.descriptor >= 0 && is_stranger(connection) && now >= connection.until) turn_away(connection);
  }
  std::erase_if(connections_, [](const Connection& connection) { return connection.descriptor < 0; });
}

std::size_t Front::leaving() const {
  return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                [](const Connection& one) { return one.state == State::kLeaving; }));
}

// Makes room for one more stranger from that host.
void Front::make_room(const std::string& host) {
  while (true) {
    std::map<std::string, std::size_t> from;
    std::size_t strangers = 0;
    for (const Connection& connection : connections_)
      if (is_stranger(connection)) ++from[connection.host], ++strangers;
    const bool own_share = from[host] >= door_.from_one;
    if (strangers == 0 || (!own_share && strangers < door_.strangers && !out_of_descriptors_)) return;
    out_of_descriptors_ = false;
    const auto most =
        std::max_element(from.begin(), from.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string& whose = own_share ? host : most->first;
    const auto oldest = [&](State state) {
      return std::find_if(connections_.begin(), connections_.end(),
                          [&](const Connection& one) { return one.state == state && one.host == whose; });
    };
    auto goes = oldest(State::kSilent);
    if (goes == connections_.end()) goes = oldest(State::kHandedOn);
    turn_away(*goes);
    if (goes->descriptor < 0) connections_.erase(goes);
  }
}

// The connection is to be handed on when it has begun to speak, and as TLS does.
void Front::greet(Connection& connection) {
  char first = 0;
  const ssize_t said = ::recv(connection.descriptor, &first, 1, MSG_PEEK);
  if (said < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (said != 1 || first != kHandshake) return turn_away(connection);
  connection.state = State::kHandedOn;
  to_hand_on_.push_back(connection.descriptor);
}

void Front::welcome(int listener) {
  for (int i = 0; i < kAtOnce; ++i) {
    const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      // The limits leave descriptors in reserve, so something else has used them up. One stranger less, and then again.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) out_of_descriptors_ = true;
      return;
    }
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(door_.silence.count()));
    const Named name = name_of(descriptor);
    make_room(name.host);
    connections_.push_back({descriptor, cookie_of(descriptor), name.host, name.peer, Clock::now() + door_.patience});
    greet(connections_.back());  // it has often spoken already
    if (connections_.back().descriptor < 0) connections_.pop_back();
  }
}

int Front::next_deadline() const {
  auto until = Clock::time_point::max();
  for (const Connection& connection : connections_)
    if (is_stranger(connection)) until = std::min(until, connection.until);
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void Front::watch() {
  std::vector<pollfd> watched;
  while (true) {
    int patience = -1;
    bool full = false;
    watched.assign(1, {woken_, POLLIN, 0});
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      forget_those_who_left();
      // gRPC closes at its own pace what was shut down here. Until it has, there is no room for more.
      full = out_of_descriptors_ || leaving() >= door_.strangers;
      if (out_of_descriptors_) make_room("");
      out_of_descriptors_ = false;
      patience = next_deadline();
      if (full) patience = patience < 0 ? kBreath : std::min(patience, kBreath);
      for (const Connection& connection : connections_)
        if (connection.state == State::kSilent) watched.push_back({connection.descriptor, POLLIN, 0});
    }
    const std::size_t waiting = watched.size();
    if (!full)
      for (const int listener : listeners_) watched.push_back({listener, POLLIN, 0});
    if (::poll(watched.data(), watched.size(), patience) < 0) continue;
    if (eventfd_t count = 0; watched[0].revents != 0) ::eventfd_read(woken_, &count);
    {
      const std::lock_guard lock(mutex_);
      std::size_t at = 1;
      for (Connection& connection : connections_) {
        if (connection.state != State::kSilent) continue;
        // Both are in the same order: nobody but this thread adds or removes a silent one.
        if (watched[at].revents != 0) greet(connection);
        ++at;
      }
      std::erase_if(connections_, [](const Connection& connection) { return connection.descriptor < 0; });
      for (std::size_t l = waiting; l < watched.size(); ++l)
        if (watched[l].revents != 0) welcome(watched[l].fd);
    }
    // Without the lock: gRPC may find a party at once, and say so here.
    for (const int descriptor : std::exchange(to_hand_on_, {})) hand_on_(descriptor);
  }
}

}  // namespace parley::transport
