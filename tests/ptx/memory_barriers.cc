#include "ptx/block.h"

namespace whet::ptx {

bool Block::use_memory_barrier(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  constexpr std::int64_t kBytes = 8;
  bool all_ended = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t where = address(warp, in.addresses[0], lane);
    const bool begins = in.op == Op::mbarrier_init;
    if (place(warp, in, lane, where, kBytes, begins ? Access::write : Access::read) == nullptr) return false;
    if (begins) {
      const auto arrivals = static_cast<std::uint32_t>(warp.slot(in.operands[0])[lane]);
      if (arrivals == 0 || arrivals >= 1u << 20)
        return fail(warp, in, "a memory barrier of " + std::to_string(arrivals) + " arrivals");
      memory_barriers_[where] = {arrivals, arrivals, 0, 0, Clock(warps_.size()), Clock(warps_.size())};
      ++events_;
      continue;
    }
    const auto found = memory_barriers_.find(where);
    if (found == memory_barriers_.end()) return fail(warp, in, "there is no memory barrier here");
    MemoryBarrier& barrier = found->second;
    if (in.op == Op::mbarrier_wait) {
      const auto parity = static_cast<std::uint32_t>(warp.slot(in.operands[0])[lane]);
      if (parity > 1) return fail(warp, in, "a parity of " + std::to_string(parity));
      const bool ended = (barrier.phase & 1) != parity;
      warp.slot(in.results[0])[lane] = ended;
      if (ended) hear(warp.clock, barrier.ended);
      all_ended &= ended;
      continue;
    }
    if (in.op == Op::mbarrier_expect) barrier.bytes += static_cast<std::uint32_t>(warp.slot(in.operands[0])[lane]);
    if (barrier.left == 0) return fail(warp, in, "arrives once more than the memory barrier expects");
    --barrier.left;
    hear(barrier.arriving, warp.clock);
    end_phase(barrier);
  }
  if (in.op == Op::mbarrier_arrive || in.op == Op::mbarrier_expect) ++warp.clock[warp.number];
  if (all_ended) return true;
  for (Part& part : warp.parts)
    if ((part.lanes & lanes) != 0) part.asleep = true;
  return true;
}

/// Where all have arrived and all bytes have landed.
void Block::end_phase(MemoryBarrier& barrier) {
  ++events_;
  if (barrier.left > 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.left = barrier.arrivals;
  barrier.ended = std::move(barrier.arriving);
  barrier.arriving = Clock(warps_.size());
}

}  // namespace whet::ptx
