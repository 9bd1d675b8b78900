// Helpers that wait without holding a core.
//
//   caller     does chunks by itself while little is left; otherwise posts the work, does chunks with the helpers,
//              takes the post down and waits for those inside
//   helper     looks for a post with a free seat, does chunks, leaves; finds none: looks for kSpin more, then sleeps
//              (futex)
//   crowded    a helper that was put off its core in the middle of a chunk lets its caller wait for a whole time slice.
//              When that happens, nobody spins and only work of several slices is posted, for a while that doubles each
//              time; then one post tries again
//
// A post lies in memory that is never freed, and its state is one word: taken, open, free seats, helpers inside. A
// helper gets in by taking a seat while the post is open, in one exchange; the caller closes it and waits until nobody
// is inside. Hence no helper looks at a body after its caller has returned. Callers never do another caller's chunks,
// so they cannot wait in a circle.
#include "parley/core/threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace parley {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kWorthHelp =
    microseconds(15);  // what is left alone: about what it takes to begin and end together
constexpr nanoseconds kWorthACrowd = milliseconds(20);  // several time slices of a scheduler
constexpr nanoseconds kSpin = microseconds(200);        // a helper, for the next post
constexpr nanoseconds kSpinForHelpers = microseconds(50);
constexpr nanoseconds kPutOff = microseconds(100);  // longer than what the kernel itself takes a core for
constexpr nanoseconds kFirstRest = milliseconds(4);
constexpr int kMostDoublings = 7;

std::atomic<int> chosen{0};

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

nanoseconds cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

long times_put_off() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

class Crew {
 public:
  // The chunks from `first` on, with up to `helpers` helpers. What the caller did of it itself.
  struct Own {
    std::size_t chunks = 0;
    nanoseconds took{0};
  };
  Own run(const SharedWork& work, std::size_t first, int helpers) {
    const auto begun = Clock::now();
    Post* post = helpers > 0 ? take_post() : nullptr;
    if (post == nullptr) {
      for (std::size_t c = first; c < work.chunks; ++c) work.run(work.body, c);
      return {work.chunks - first, Clock::now() - begun};
    }
    start(helpers);
    post->work = work;
    post->error = nullptr;
    post->next.store(first, std::memory_order_relaxed);
    const auto seats = static_cast<std::uint32_t>(std::min<std::size_t>(static_cast<std::size_t>(helpers), kMostSeats));
    post->state.store(kTaken | kOpen | seats * kSeat, std::memory_order_release);
    wake(static_cast<int>(seats));
    const std::size_t did = do_chunks(*post);
    const Own own{did, Clock::now() - begun};
    close(*post);
    const std::exception_ptr error = std::exchange(post->error, nullptr);
    post->state.store(0, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return own;
  }

  [[nodiscard]] bool crowded(Clock::time_point now) const {
    return now.time_since_epoch().count() < rest_until_.load(std::memory_order_relaxed);
  }

  static Crew& of_process() {
    // Never freed, since its threads end with the process. They are not in a forked child, which begins with a crew of
    // its own.
    static const bool made = [] {
      crew_.store(new Crew, std::memory_order_release);
      return ::pthread_atfork(nullptr, nullptr, [] { crew_.store(new Crew, std::memory_order_release); }) == 0;
    }();
    static_cast<void>(made);
    return *crew_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::uint32_t kInside = 1, kSeat = 1u << 15, kOpen = 1u << 30, kTaken = 1u << 31;
  static constexpr std::uint32_t kMostSeats = (1u << 15) - 1, kAnyInside = kSeat - 1, kAnySeat = kMostSeats * kSeat;

  struct alignas(128) Post {
    std::atomic<std::uint32_t> state{0};
    SharedWork work;
    alignas(64) std::atomic<std::size_t> next{0};
    std::atomic_flag failed;
    std::exception_ptr error;  // of whoever set `failed`
  };

  Post* take_post() {
    for (std::size_t p = 0; p < posts_.size(); ++p) {
      std::uint32_t free = 0;
      if (posts_[p].state.load(std::memory_order_relaxed) == 0 &&
          posts_[p].state.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) {
        std::size_t used = used_.load(std::memory_order_relaxed);
        while (used < p + 1 && !used_.compare_exchange_weak(used, p + 1)) {
        }
        posts_[p].failed.clear(std::memory_order_relaxed);
        return &posts_[p];
      }
    }
    return nullptr;
  }

  static std::size_t do_chunks(Post& post) {
    std::size_t did = 0;
    try {
      for (std::size_t c; (c = post.next.fetch_add(1, std::memory_order_relaxed)) < post.work.chunks; ++did)
        post.work.run(post.work.body, c);
    } catch (...) {
      post.next.store(post.work.chunks, std::memory_order_relaxed);
      if (!post.failed.test_and_set(std::memory_order_relaxed)) post.error = std::current_exception();
    }
    return did;
  }

  // Nobody gets in any more; returns when nobody is inside.
  void close(Post& post) {
    std::uint32_t state = post.state.fetch_and(~(kOpen | kAnySeat), std::memory_order_acq_rel) & ~(kOpen | kAnySeat);
    if ((state & kAnyInside) == 0) return;
    const auto begun = Clock::now();
    for (auto now = begun; !crowded(now) && now - begun < kSpinForHelpers; now = Clock::now())
      for (int i = 0; i < 16; ++i) {
        state = post.state.load(std::memory_order_acquire);
        if ((state & kAnyInside) == 0) return;
        pause();
      }
    while (((state = post.state.load(std::memory_order_acquire)) & kAnyInside) != 0)
      post.state.wait(state, std::memory_order_acquire);
  }

  void wake(int helpers) {
    posted_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
    for (int awake = spinning_.load(std::memory_order_relaxed); awake < helpers; ++awake) posted_.notify_one();
  }

  void start(int helpers) {
    if (helpers_.load(std::memory_order_acquire) >= helpers) return;
    const std::lock_guard lock(starting_);
    // Signals are for the threads that the program has itself.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (helpers_.load(std::memory_order_relaxed) < helpers) {
        std::thread([this] { help(); }).detach();
        helpers_.fetch_add(1, std::memory_order_release);
      }
    } catch (const std::system_error&) {  // no more threads are to be had: those that there are do the work
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  Post* find_seat() {
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t p = 0; p < used; ++p) {
      Post& post = posts_[p];
      std::uint32_t state = post.state.load(std::memory_order_relaxed);
      while ((state & kOpen) != 0 && (state & kAnySeat) != 0)
        if (post.state.compare_exchange_weak(state, state - kSeat + kInside, std::memory_order_acq_rel,
                                             std::memory_order_relaxed))
          return &post;
    }
    return nullptr;
  }

  static void leave(Post& post) {
    const std::uint32_t before = post.state.fetch_sub(kInside, std::memory_order_acq_rel);
    if ((before & kOpen) == 0 && (before & kAnyInside) == kInside) post.state.notify_all();
  }

  [[noreturn]] void help() {
    long put_off = times_put_off();
    while (true) {
      const std::uint32_t seen = posted_.load(std::memory_order_seq_cst);
      if (Post* post = find_seat()) {
        const auto begun = Clock::now();
        const nanoseconds worked = cpu_time();
        do_chunks(*post);
        leave(*post);
        note(Clock::now() - begun, worked, put_off);
      } else if (!spin(seen)) {
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        posted_.wait(seen, std::memory_order_seq_cst);
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
  }

  // Whether something was posted while it looked.
  bool spin(std::uint32_t seen) {
    auto now = Clock::now();
    const auto end = now + kSpin;
    if (crowded(now)) return posted_.load(std::memory_order_seq_cst) != seen;
    spinning_.fetch_add(1, std::memory_order_relaxed);
    bool posted = false;
    while (!posted && now < end) {
      for (int i = 0; i < 16 && !posted; ++i) {
        posted = posted_.load(std::memory_order_relaxed) != seen;
        if (!posted) pause();
      }
      const auto before = std::exchange(now, Clock::now());
      if (now - before > kPutOff) {
        rest(now);
        break;
      }
    }
    spinning_.fetch_sub(1, std::memory_order_relaxed);
    return posted_.load(std::memory_order_seq_cst) != seen;
  }

  // After a helper's chunks: was it put off its core while its caller may have waited?
  void note(nanoseconds took, nanoseconds worked_before, long& put_off) {
    const auto now = Clock::now();
    if (took > kPutOff && took - (cpu_time() - worked_before) > kPutOff) {
      const long before = std::exchange(put_off, times_put_off());
      if (put_off > before) return rest(now);  // and did not go itself, to wait for a disk or a lock
    }
    int level = doublings_.load(std::memory_order_relaxed);
    if (level > 0 && !crowded(now)) doublings_.compare_exchange_strong(level, level - 1, std::memory_order_relaxed);
  }

  void rest(Clock::time_point now) {
    const int level = doublings_.load(std::memory_order_relaxed);
    rest_until_.store((now + kFirstRest * (1 << level)).time_since_epoch().count(), std::memory_order_relaxed);
    doublings_.store(std::min(level + 1, kMostDoublings), std::memory_order_relaxed);
  }

  inline static std::atomic<Crew*> crew_{nullptr};

  std::array<Post, 64> posts_;
  std::atomic<std::size_t> used_{0};  // posts that were ever taken
  alignas(64) std::atomic<std::uint32_t> posted_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<int> spinning_{0};
  alignas(64) std::atomic<Clock::rep> rest_until_{0};
  std::atomic<int> doublings_{0};
  std::atomic<int> helpers_{0};
  std::mutex starting_;
};

// A measurement that is low was not disturbed; one that is high may have been.
void note(Pace& pace, const SharedWork& work, nanoseconds took, std::size_t chunks) {
  if (chunks == 0) return;
  const auto now = static_cast<float>(static_cast<double>(took.count()) * static_cast<double>(work.chunks) /
                                      (static_cast<double>(chunks) * static_cast<double>(work.items)));
  const float before = pace.per_item.load(std::memory_order_relaxed);
  pace.per_item.store(before == 0 || now < before ? now : before + (now - before) / 8, std::memory_order_relaxed);
}

}  // namespace

int thread_count() {
  static const int all = cores();
  const int threads = chosen.load(std::memory_order_relaxed);
  return threads > 0 ? threads : all;
}

void set_thread_count(int threads) {
  chosen.store(threads, std::memory_order_relaxed);
}

void share(const SharedWork& work, Pace& pace) {
  Crew& crew = Crew::of_process();
  const auto begun = Clock::now();
  const nanoseconds enough = crew.crowded(begun) ? kWorthACrowd : kWorthHelp;
  const nanoseconds expected{static_cast<std::int64_t>(std::min(
      1e15, static_cast<double>(pace.per_item.load(std::memory_order_relaxed)) * static_cast<double>(work.items)))};
  std::size_t done = 0;
  nanoseconds alone{0};
  if (expected < enough) {
    // The clock is looked at when half of what is enough may have passed, so that small chunks are not timed one by
    // one.
    for (std::size_t look = 1; done < work.chunks && alone < enough;) {
      for (; done < look; ++done) work.run(work.body, done);
      alone = Clock::now() - begun;
      const auto each = std::max<std::int64_t>(1, alone.count() / static_cast<std::int64_t>(done));
      const auto more = std::max<std::int64_t>(1, (enough - alone).count() / (2 * each));
      look = std::min(work.chunks, done + static_cast<std::size_t>(more));
    }
    note(pace, work, alone, done);
    if (done == work.chunks) return;
  }
  const auto most = static_cast<std::int64_t>(work.chunks - done) - (done == 0 ? 1 : 0);
  const Crew::Own own = crew.run(work, done, static_cast<int>(std::min<std::int64_t>(thread_count() - 1, most)));
  if (done == 0) note(pace, work, own.took, own.chunks);
}

void share_at_once(const SharedWork& work, int threads) {
  Crew::of_process().run(work, 0, threads - 1);
}

}  // namespace parley
