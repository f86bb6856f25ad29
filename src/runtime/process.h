#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace whet {

/// A number of this process, never 0. A child after fork has another number than its parent, also where the first process
/// of a new namespace has its parent's id. The number is valid within this library only: each library numbers processes on its own.
std::uint32_t process_number();

/// A lock for short work. A child after fork finds it free, even if a thread of its parent had it: that thread is not in the
/// child. The work must leave the data that it guards valid between any two instructions.
class ForkLock {
 public:
  void lock() {
    const std::uint32_t self = process_number();
    std::uint32_t holder = 0;
    while (!holder_.compare_exchange_weak(holder, self, std::memory_order_acquire)) {
      if (holder != self) continue;  // free, or a parent's
      holder = 0;
      sched_yield();
    }
  }
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> holder_{0};  ///< the process in which some thread has it, or 0
};

/// Has a lock while it lives.
template <typename Lock>
class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

/// Held by one thread of the process while it uses something that is one thread's at a time.
class InUse {
 public:
  /// True if no thread of this process has it; then the caller has it until `end`.
  bool begin() {
    const std::uint32_t self = process_number();
    std::uint32_t user = user_.load(std::memory_order_relaxed);
    return user != self && user_.compare_exchange_strong(user, self, std::memory_order_acquire);
  }
  void end() { user_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> user_{0};  ///< the process of the thread that uses it, or 0
};

}  // namespace whet
