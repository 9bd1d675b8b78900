// For the thread sanitizer only. gRPC and its locks (Abseil's) are libraries that were not compiled for it, and they
// order threads by atomics which it therefore does not see: a lock taken in gRPC would count for nothing, and what is
// read under it as a race. The functions below stand before theirs, do the same, and say what they promise:
//   what was done before a lock was given back is seen by whoever takes it next;
//   what was done before an operation was started is seen by whoever is told that it has ended.
// What we do in gRPC's threads is still watched.
#include <absl/synchronization/mutex.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

#include <string>
#include <string_view>

namespace {

#define PARLEY_TEXT_OF(word) #word
#define PARLEY_TEXT(word) PARLEY_TEXT_OF(word)

template <class Function>
Function* theirs(const std::string& symbol) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, symbol.c_str()));
}
// A member of Abseil, by the rest of its mangled name.
template <class Function>
Function* abseils(std::string_view member) {
  constexpr std::string_view kVersion = PARLEY_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  return theirs<Function>(fmt::format("_ZN4absl{}{}{}", kVersion.size(), kVersion, member));
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const lock = abseils<void(Mutex*)>("5Mutex4LockEv");
  lock(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  static auto* const try_lock = abseils<bool(Mutex*)>("5Mutex7TryLockEv");
  const bool locked = try_lock(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  static auto* const unlock = abseils<void(Mutex*)>("5Mutex6UnlockEv");
  __tsan_release(this);
  unlock(this);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const wait = abseils<void(CondVar*, Mutex*)>("7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  wait(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const wait = abseils<bool(CondVar*, Mutex*, Time)>("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool late = wait(this, mutex, deadline);
  __tsan_acquire(mutex);
  return late;
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const wait =
      abseils<bool(CondVar*, Mutex*, Duration)>("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool late = wait(this, mutex, timeout);
  __tsan_acquire(mutex);
  return late;
}

ABSL_NAMESPACE_END
}  // namespace absl

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* operations, size_t count, void* tag,
                                      void* reserved) {
  static auto* const start = theirs<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  __tsan_release(tag);
  return start(call, operations, count, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const next = theirs<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  const grpc_event event = next(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}
