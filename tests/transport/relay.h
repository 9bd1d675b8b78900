// A TCP relay on loopback that can fall silent, as a broken network does: connections stay open and nothing passes.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>

namespace parley::tests {

class Relay {
 public:
  explicit Relay(int to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept(); });
  }
  ~Relay() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (Link& link : links_) {
      ::shutdown(link.near, SHUT_RDWR);
      ::shutdown(link.far, SHUT_RDWR);
      link.up.join();
      link.down.join();
      ::close(link.near);
      ::close(link.far);
    }
    ::close(listener_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] int port() const { return port_; }
  // Whatever is connected now stays so, and nothing passes any more. Connections made later are good.
  void fall_silent() {
    const std::lock_guard lock(mutex_);
    for (Link& link : links_) link.silent = true;
  }
  void stay_silent() { deaf_ = true, fall_silent(); }  // later connections too
  void crawl() { piece_ = 7; }                         // bytes at a time from now on

 private:
  struct Link {
    int near = -1;
    int far = -1;
    std::atomic<bool> silent = false;
    std::thread up;
    std::thread down;
  };
  static sockaddr_in loopback_address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void accept() {
    for (int near = ::accept(listener_, nullptr, nullptr); near >= 0; near = ::accept(listener_, nullptr, nullptr)) {
      const int far = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address = loopback_address(to_);
      const int yes = 1;
      for (const int end : {near, far}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      if (::connect(far, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::shutdown(near, SHUT_RDWR);
      const std::lock_guard lock(mutex_);
      Link& link = links_.emplace_back();
      link.near = near;
      link.far = far;
      link.silent = deaf_.load();
      link.up = std::thread([this, &link] { pump(link, link.near, link.far); });
      link.down = std::thread([this, &link] { pump(link, link.far, link.near); });
    }
  }
  // What arrives on a silent link is lost, also that the other side hung up.
  void pump(Link& link, int from, int to) const {
    char buffer[4096];
    while (true) {
      const ssize_t got = ::read(from, buffer, std::min(sizeof buffer, piece_.load()));
      if (got <= 0) break;
      for (ssize_t sent = 0; !link.silent && sent < got;) {
        const ssize_t now = ::send(to, buffer + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
        if (now <= 0) return;
        sent += now;
      }
    }
    if (!link.silent) ::shutdown(to, SHUT_WR);
  }

  int to_;
  int listener_;
  int port_ = 0;
  std::atomic<bool> deaf_ = false;
  std::atomic<std::size_t> piece_ = 4096;
  std::mutex mutex_;
  std::list<Link> links_;
  std::thread accepting_;
};

}  // namespace parley::tests
