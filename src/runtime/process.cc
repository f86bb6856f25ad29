#include "runtime/process.h"

#include <sys/mman.h>
#include <unistd.h>

namespace whet {
namespace {

/// A page of its own, so that the system can empty it in children. On systems with larger pages, and before Linux 4.14, it
/// stays, and the process's id alone tells a child.
struct alignas(4096) Mark {
  std::atomic<std::uint64_t> id_and_number{0};
};

Mark mark;
std::atomic<std::uint32_t> last_number{0};

/// In place of an id: children find an empty mark.
constexpr std::uint32_t kEmptied = ~std::uint32_t{0};

/// Asks for that. What takes any advice (an emulator may) follows none.
bool is_emptied_in_children() {
  constexpr int kNoAdvice = 9999;
  return madvise(&mark, sizeof mark, kNoAdvice) != 0 && madvise(&mark, sizeof mark, MADV_WIPEONFORK) == 0;
}

std::uint32_t number_without_mark(std::uint64_t marked) {
  std::uint64_t id = static_cast<std::uint32_t>(getpid());
  if (marked >> 32 == id) return static_cast<std::uint32_t>(marked);
  if (is_emptied_in_children()) id = kEmptied;
  while (marked >> 32 != id) {
    // The number is used up before it is set: a child that is made in between takes a later one.
    const std::uint64_t own = id << 32 | (last_number.fetch_add(1, std::memory_order_seq_cst) + 1);
    if (mark.id_and_number.compare_exchange_strong(marked, own, std::memory_order_acq_rel)) marked = own;
  }
  return static_cast<std::uint32_t>(marked);
}

}  // namespace

std::uint32_t process_number() {
  const std::uint64_t marked = mark.id_and_number.load(std::memory_order_acquire);
  return marked >> 32 == kEmptied ? static_cast<std::uint32_t>(marked) : number_without_mark(marked);
}

}  // namespace whet
