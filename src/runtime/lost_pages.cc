#include "runtime/lost_pages.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "runtime/memory.h"
#include "runtime/process.h"

namespace whet {

/// What a handler reads while others come and go: the memory of one that was forgotten is the next one's. Without an `end` it has no pages.
struct WatchedPages {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> lost{false}, taken{true};
  WatchedPages* next = nullptr;
};

namespace {

std::atomic<WatchedPages*> all_watched{nullptr};

/// What SIGBUS does: `ours` is set while there are users, or stands below a handler that another library has set since. It is never set
/// twice: the two would call each other for ever.
struct Handler {
  ForkLock lock;
  std::uint32_t process;  ///< whose threads the users are: a child has none of its parent's
  std::uint32_t users;
  bool ours;
  struct sigaction before;
};
Handler handler{};

/// Puts zeros in the place of the page and of all behind it: a file that was cut has nothing there.
bool replace_pages(WatchedPages& watched, std::uintptr_t at) {
  const std::uintptr_t page = at / page_bytes() * page_bytes(), end = watched.end.load(std::memory_order_acquire);
  if (page < watched.begin.load(std::memory_order_acquire) || at >= end) return false;
  watched.lost.store(true, std::memory_order_release);
  return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

/// The signal is not about watched pages.
void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& before = handler.before;
  const bool was_sent = info->si_code <= 0;  // by a process; an access comes again
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  if (before.sa_handler == SIG_IGN && was_sent) return;
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(number, &usual, nullptr);
  if (was_sent) raise(number);
}

void on_lost_page(int number, siginfo_t* info, void* context) {
  const int error = errno;
  // One that a process sent has no address.
  WatchedPages* watched = info->si_code > 0 ? all_watched.load(std::memory_order_acquire) : nullptr;
  while (watched != nullptr && !replace_pages(*watched, reinterpret_cast<std::uintptr_t>(info->si_addr)))
    watched = watched->next;
  if (watched == nullptr) hand_on(number, info, context);
  errno = error;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_lost_page;
}

void set_handler() {
  struct sigaction now = {};
  if (sigaction(SIGBUS, nullptr, &now) != 0) return;
  handler.ours = handler.ours || is_ours(now);  // which a thread of the parent set just before the fork
  if (handler.ours) return;
  handler.before = now;  // first: ours may be called at once
  struct sigaction own = {};
  own.sa_sigaction = on_lost_page;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&own.sa_mask);
  handler.ours = sigaction(SIGBUS, &own, nullptr) == 0;
}

/// Leaves it where something else was set meanwhile, which may call ours.
void set_back_handler() {
  struct sigaction now = {};
  if (sigaction(SIGBUS, nullptr, &now) == 0 && is_ours(now))
    handler.ours = sigaction(SIGBUS, &handler.before, nullptr) != 0;
}

WatchedPages* find_forgotten() {
  for (WatchedPages* each = all_watched.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    bool taken = false;
    if (each->taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) return each;
  }
  return nullptr;
}

WatchedPages* add_watched() {
  void* const memory = malloc(sizeof(WatchedPages));
  if (memory == nullptr) return nullptr;
  WatchedPages* const added = new (memory) WatchedPages();
  added->next = all_watched.load(std::memory_order_relaxed);
  while (!all_watched.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return added;
}

/// When the library is closed. Where something is watched still, as at the end of a program that runs a model, a handler may look at all.
__attribute__((destructor)) void free_forgotten() {
  for (WatchedPages* each = all_watched.load(std::memory_order_acquire); each != nullptr; each = each->next)
    if (each->taken.load(std::memory_order_acquire)) return;
  for (WatchedPages* each = all_watched.exchange(nullptr, std::memory_order_acq_rel); each != nullptr;) {
    WatchedPages* const next = each->next;
    free(each);
    each = next;
  }
}

}  // namespace

WatchedPages* watch_pages(const void* begin, std::uint64_t bytes) {
  WatchedPages* watched = find_forgotten();
  if (watched == nullptr) watched = add_watched();
  if (watched == nullptr) return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  watched->lost.store(false, std::memory_order_relaxed);
  watched->begin.store(at, std::memory_order_release);
  watched->end.store(at + (bytes + page_bytes() - 1) / page_bytes() * page_bytes(), std::memory_order_release);
  return watched;
}

void forget_pages(WatchedPages* watched) {
  if (watched == nullptr) return;
  watched->end.store(0, std::memory_order_release);
  watched->taken.store(false, std::memory_order_release);
}

bool has_lost_pages(const WatchedPages* watched) {
  return watched != nullptr && watched->lost.load(std::memory_order_acquire);
}

PagesInUse::PagesInUse(const WatchedPages* watched) : any_(watched != nullptr) {
  if (!any_) return;
  const Locked locked(handler.lock);
  if (handler.process != process_number()) handler.users = 0;
  handler.process = process_number();
  if (handler.users++ == 0) set_handler();
}

PagesInUse::~PagesInUse() {
  if (!any_) return;
  const Locked locked(handler.lock);
  if (--handler.users == 0) set_back_handler();
}

}  // namespace whet
