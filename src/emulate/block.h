#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact/emulated_block.h"
#include "base/result.h"
#include "base/rng.h"
#include "emulate/fiber.h"
#include "emulate/fragments.h"
#include "emulate/kernel.h"

namespace whet {

template <typename T>
void put_in_order(std::vector<T>& list, EmulatedOrder order, Rng& rng) {
  if (order == EmulatedOrder::backward) std::reverse(list.begin(), list.end());
  if (order != EmulatedOrder::shuffled) return;
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(i) - 1))]);
}

/// Runs one block of a launch after the other, on one thread of the host.
class EmulatedBlock {
 public:
  EmulatedBlock(const EmulatedGrid&, const EmulateOptions&);
  Status run(std::uint32_t block);

 private:
  enum class State : std::uint8_t { ready, at_barrier, in_warp, ended };
  /// Why the threads of a warp meet.
  enum class Meeting : std::uint8_t { exchange, rows, turned_rows, tile };
  struct Copy {
    void* to;
    const void* from;
    std::uint32_t bytes, valid, group;
  };
  struct Thread : whet_block {
    Fiber fiber;
    State state = State::ready;
    Meeting meeting = Meeting::exchange;
    std::uint32_t detail = 0;     ///< the mask of an exchange, the kind of a tile
    std::uint32_t word = 0;       ///< of an exchange: what it gives, then what it gets
    TileFragments fragments;      ///< of a tile; `sums` also gets the words of rows
    const void* row = nullptr;    ///< that it gives
    std::vector<Copy> in_flight;  ///< the oldest first
    std::uint32_t group = 0;      ///< of copies that it issues now,
    bool late = false;            ///< which land when they are waited for
    std::uint32_t copied = 0;     ///< all its copies are of groups below this
    std::uint32_t waited = 0;     ///< it has waited for the groups below this
  };

  static EmulatedBlock& of(whet_block* thread) { return *static_cast<EmulatedBlock*>(thread->scheduler); }
  static Thread& whole(whet_block* thread) { return *static_cast<Thread*>(thread); }
  static void begin(void* thread);
  static void barrier(whet_block*);
  static std::uint32_t exchange(whet_block*, std::uint32_t bits, std::uint32_t mask);
  static void copy(whet_block*, void* to, const void* from, std::uint32_t bytes, std::uint32_t valid);
  static void commit(whet_block*);
  static void wait(whet_block*, std::uint32_t pending);
  static void load_rows(whet_block*, const void* row, std::uint32_t words[4]);
  static void load_turned_rows(whet_block*, const void* row, std::uint32_t words[4]);
  static void multiply(whet_block*, std::uint32_t kind, const std::uint32_t left[4], const std::uint32_t right[2],
                       std::uint32_t sums[4]);
  static void land(const Copy&);

  void pause(Thread&, State);
  bool turn();  ///< every thread that can go on does so once; false: none can
  /// The thread waits until all of its warp have come; the last does the work of all.
  void meet(Thread&, Meeting, std::uint32_t detail);
  void finish_meeting(std::uint32_t warp);
  std::string stuck() const;
  void fail(const std::string& message);

  const EmulatedGrid grid_;
  const EmulateOptions options_;
  Rng rng_;
  FiberStacks stacks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::uint32_t> order_;
  std::vector<unsigned char> memory_;
  std::uint32_t block_ = 0;
  std::string error_;
};

}  // namespace whet
