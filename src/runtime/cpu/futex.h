#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "runtime/clock.h"

namespace whet {

/// Sleeps until woken, unless `word` differs from `expected`. It may also wake without a reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Tells the core that this thread only waits.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// A word that one thread changes and for which others wait, first spinning, then asleep.
class WaitWord {
 public:
  /// The reader sees all writes before the store of the value that it gets. Loads and stores of all words have one order.
  std::uint32_t load() const { return word_.load(std::memory_order_seq_cst); }

  /// Stores the value and wakes sleeping threads. A thread that sees the new value sees all earlier writes.
  void store(std::uint32_t value) {
    // Sequentially consistent with the sleeper's count: either this thread sees the sleeper, or the sleeper the value.
    word_.store(value, std::memory_order_seq_cst);
    wake();
  }
  /// Decrements the word and returns its value before. Wakes sleeping threads when the word has become 0.
  std::uint32_t decrement() {
    const std::uint32_t before = word_.fetch_sub(1, std::memory_order_seq_cst);
    if (before == 1) wake();
    return before;
  }
  /// Returns when the word differs from `old`. Spins for `spin_ns`, then sleeps. After `polite_ns` of spinning it yields the
  /// core at every look: the thread that changes the word may have no core. Returns the nanoseconds that it waited, without
  /// those after its last look at the clock.
  std::uint64_t wait_while(std::uint32_t old, std::uint64_t spin_ns, std::uint64_t polite_ns = kPoliteAfterNs) {
    std::uint64_t waited = 0;
    if (spin(old, spin_ns, polite_ns, &waited)) return waited;
    const std::uint64_t begin = now_ns();
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (word_.load(std::memory_order_seq_cst) == old) futex_wait(word_, old);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return waited + (now_ns() - begin);
  }
  /// The same without sleep: spins for `spin_ns`, or until the word differs from `old`, and returns whether it does.
  bool spin_while(std::uint32_t old, std::uint64_t spin_ns) const {
    std::uint64_t waited;
    return spin(old, spin_ns, kPoliteAfterNs, &waited);
  }
  /// Sets the word in a child after fork, where no thread waits any more.
  void reset(std::uint32_t value) {
    word_.store(value, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kPoliteAfterNs = 50000;

  bool spin(std::uint32_t old, std::uint64_t spin_ns, std::uint64_t polite_ns, std::uint64_t* waited) const {
    if (load() != old) return true;
    if (spin_ns == 0) return false;
    const std::uint64_t begin = now_ns();
    for (*waited = 0; *waited < spin_ns; *waited = now_ns() - begin) {
      for (int i = 0; i < 64; ++i) {
        spin_pause();
        if (load() != old) return true;
      }
      if (*waited > polite_ns) sched_yield();
    }
    return false;
  }

  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(word_);
  }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace whet
