// The coordinator's door. gRPC 1.51 takes every connection there is until the process has no descriptor left, and then
// the run ends when it next writes a checkpoint. So connections are accepted here, and gRPC gets those that have begun
// to speak.
//
// A connection is a stranger's until a stream over it has shown the certificate of a party. There are at most so many
// strangers, in all and from one address, and each has the same time to become a party or go. A stranger for whom there
// is no room is not kept out: the oldest of those who have said nothing goes in its place, else the oldest who has
// spoken; of its own address if that holds its share, else of the address that holds most. A party speaks first, as
// soon as it is connected, so whoever only holds connections waits outside while parties pass. A party has one
// connection; when it comes over another one the first is a stranger's again.
//
// What is handed on belongs to gRPC. Here its number is kept with its cookie, which no two sockets share: whether
// it is still open is asked of the system. Sockets are made by the thread of this door alone, which also shuts them
// down: between looking at a cookie and shutting a socket down no other socket can have got its number.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parley/core/result.h"

namespace parley::transport {

struct Door {
  std::string address;                        // "host:port"; port 0: the system chooses
  std::size_t strangers = 256;                // at one time
  std::size_t from_one = 64;                  // of them from one address
  std::chrono::milliseconds patience{20000};  // in which a stranger becomes a party
  std::chrono::milliseconds silence{20000};   // after which what was sent and not received is taken to be lost
};

class Front {
 public:
  // The function that is called owns the descriptor from then on.
  using HandOn = std::function<void(int descriptor)>;

  // An error when nothing of the address can be listened on. Nobody is let in yet.
  static Result<std::unique_ptr<Front>> listen(Door door);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  [[nodiscard]] int port() const { return port_; }
  void open(HandOn hand_on);
  void close();  // nobody else is let in, and connections that have said nothing are closed
  // The connection from `peer`, as gRPC calls it, is the party's. From any thread.
  void is_of(const std::string& peer, int party);

 private:
  // A connection that was turned away after it was handed on is leaving until gRPC has closed it.
  enum class State { kSilent, kHandedOn, kOfParty, kLeaving };
  struct Connection {
    int descriptor = -1;
    std::uint64_t cookie = 0;
    std::string host;
    std::string peer;
    std::chrono::steady_clock::time_point until;
    State state = State::kSilent;
    int party = -1;
  };
  explicit Front(Door door) : door_(std::move(door)) {}
  void watch();
  void welcome(int listener);
  void greet(Connection& connection);
  void make_room(const std::string& host);
  void turn_away(Connection& connection);
  void forget_those_who_left();
  static bool is_stranger(const Connection& one) {
    return one.state == State::kSilent || one.state == State::kHandedOn;
  }
  [[nodiscard]] std::size_t leaving() const;
  [[nodiscard]] int next_deadline() const;

  Door door_;
  HandOn hand_on_;
  std::vector<int> listeners_;
  int port_ = 0;
  int woken_ = -1;
  std::vector<int> to_hand_on_;
  bool out_of_descriptors_ = false;
  std::mutex mutex_;  // of what follows
  bool closing_ = false;
  std::vector<Connection> connections_;  // the oldest first
  std::thread thread_;
};

}  // namespace parley::transport
