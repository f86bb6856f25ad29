#include "emulate/block.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace whet {
namespace {

constexpr std::uint32_t kWarpThreads = 32;
constexpr std::size_t kMemoryAlign = 128;
constexpr int kNan = 0xff;                                                          ///< bytes of a NaN of any width
constexpr const char* kMeetings[] = {"an exchange", "rows of matrices", "a tile"};  ///< by Meeting

}  // namespace

EmulatedBlock::EmulatedBlock(const EmulatedGrid& grid, const EmulateOptions& options)
    : grid_(grid),
      options_(options),
      rng_(options.seed),
      stacks_(static_cast<int>(grid.threads)),
      memory_(static_cast<std::size_t>(grid.block_memory) + kMemoryAlign) {
  void* memory = memory_.data();
  std::size_t space = memory_.size();
  memory = std::align(kMemoryAlign, static_cast<std::size_t>(grid.block_memory), memory, space);
  for (std::uint32_t t = 0; t < grid.threads; ++t) {
    threads_.push_back(std::make_unique<Thread>());
    static_cast<whet_block&>(*threads_.back()) = {grid.arguments,
                                                  static_cast<unsigned char*>(memory),
                                                  t,
                                                  grid.threads,
                                                  0,
                                                  grid.blocks,
                                                  this,
                                                  barrier,
                                                  exchange,
                                                  copy,
                                                  commit,
                                                  wait,
                                                  load_rows,
                                                  multiply,
                                                  load_turned_rows};
  }
}

Status EmulatedBlock::run(std::uint32_t block) {
  block_ = block;
  error_.clear();
  rng_ = Rng(options_.seed * 0x9e3779b97f4a7c15ull + block);
  if (grid_.block_memory > 0) std::memset(threads_[0]->memory, kNan, static_cast<std::size_t>(grid_.block_memory));
  for (std::uint32_t t = 0; t < grid_.threads; ++t) {
    Thread& thread = *threads_[t];
    thread.block = block;
    thread.state = State::ready;
    thread.in_flight.clear();
    thread.group = thread.copied = thread.waited = 0;
    thread.late = rng_.chance(0.5);
    thread.fiber.prepare(stacks_.bottom(static_cast<int>(t)), begin, &thread);
  }
  while (error_.empty() && turn()) {
    const auto waits = [](const auto& thread) { return thread->state == State::at_barrier; };
    if (!std::all_of(threads_.begin(), threads_.end(), waits)) continue;
    for (const auto& thread : threads_) thread->state = State::ready;
  }
  const auto ended = [](const auto& thread) { return thread->state == State::ended; };
  if (error_.empty() && !std::all_of(threads_.begin(), threads_.end(), ended)) fail(stuck());
  if (!error_.empty()) return Error{error_};
  return ok_status();
}

bool EmulatedBlock::turn() {
  order_.clear();
  for (std::uint32_t t = 0; t < grid_.threads; ++t)
    if (threads_[t]->state == State::ready) order_.push_back(t);
  put_in_order(order_, options_.order, rng_);
  for (std::uint32_t t : order_) threads_[t]->fiber.resume();
  return !order_.empty();
}

/// Nobody can go on.
std::string EmulatedBlock::stuck() const {
  const auto first = [&](State state, std::uint32_t begin, std::uint32_t end) {
    while (begin < end && threads_[begin]->state != state) ++begin;
    return begin;
  };
  const std::uint32_t all = grid_.threads;
  if (const std::uint32_t t = first(State::in_warp, 0, all); t < all) {
    const std::uint32_t warp = t / kWarpThreads * kWarpThreads;
    std::uint32_t missing = warp;
    while (threads_[missing]->state == State::in_warp) ++missing;
    return "thread " + std::to_string(t) + " waits for " + kMeetings[static_cast<std::size_t>(threads_[t]->meeting)] +
           " that thread " + std::to_string(missing) + " of its warp does not come to";
  }
  return "thread " + std::to_string(first(State::at_barrier, 0, all)) + " waits at a barrier that thread " +
         std::to_string(first(State::ended, 0, all)) + " does not come to";
}

void EmulatedBlock::fail(const std::string& message) {
  if (error_.empty()) error_ = "block " + std::to_string(block_) + ": " + message;
}

void EmulatedBlock::pause(Thread& thread, State state) {
  thread.state = state;
  thread.fiber.pause();
}

void EmulatedBlock::begin(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  EmulatedBlock& self = of(&thread);
  self.grid_.entry(&thread);
  if (thread.copied > thread.waited)
    self.fail("thread " + std::to_string(thread.thread) + " ends with copies that it never waited for");
  thread.state = State::ended;
}

// ---- What kernels call

void EmulatedBlock::barrier(whet_block* thread) { of(thread).pause(whole(thread), State::at_barrier); }

std::uint32_t EmulatedBlock::exchange(whet_block* thread, std::uint32_t bits, std::uint32_t mask) {
  Thread& self = whole(thread);
  self.word = bits;
  of(thread).meet(self, Meeting::exchange, mask);
  return self.word;
}

void EmulatedBlock::load_rows(whet_block* thread, const void* row, std::uint32_t words[4]) {
  Thread& self = whole(thread);
  self.row = row, self.fragments.sums = words;
  of(thread).meet(self, Meeting::rows, 0);
}

void EmulatedBlock::load_turned_rows(whet_block* thread, const void* row, std::uint32_t words[4]) {
  Thread& self = whole(thread);
  self.row = row, self.fragments.sums = words;
  of(thread).meet(self, Meeting::turned_rows, 0);
}

void EmulatedBlock::multiply(whet_block* thread, std::uint32_t kind, const std::uint32_t left[4],
                             const std::uint32_t right[2], std::uint32_t sums[4]) {
  Thread& self = whole(thread);
  self.fragments = {left, right, sums};
  of(thread).meet(self, Meeting::tile, kind);
}

void EmulatedBlock::meet(Thread& thread, Meeting meeting, std::uint32_t detail) {
  thread.meeting = meeting, thread.detail = detail, thread.state = State::in_warp;
  finish_meeting(thread.thread / kWarpThreads * kWarpThreads);
  thread.fiber.pause();
}

/// Where all lanes of the warp have come, each gets what it came for.
void EmulatedBlock::finish_meeting(std::uint32_t warp) {
  std::uint32_t words[kWarpThreads];
  TileFragments fragments[kWarpThreads];
  const void* rows[kWarpThreads];
  const Meeting meeting = threads_[warp]->meeting;
  const std::uint32_t detail = threads_[warp]->detail;
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    const Thread& thread = *threads_[warp + lane];
    if (thread.state != State::in_warp) return;
    if (thread.meeting != meeting || thread.detail != detail ||
        (meeting == Meeting::exchange && detail >= kWarpThreads))
      return fail("thread " + std::to_string(warp + lane) + " takes part in another exchange than thread " +
                  std::to_string(warp) + " of its warp");
    words[lane] = thread.word, fragments[lane] = thread.fragments, rows[lane] = thread.row;
  }
  if (meeting == Meeting::tile) multiply_fragments(detail, fragments);
  if (meeting == Meeting::rows) load_matrices(rows, fragments);
  if (meeting == Meeting::turned_rows) load_turned_matrices(rows, fragments);
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    if (meeting == Meeting::exchange) threads_[warp + lane]->word = words[lane ^ detail];
    threads_[warp + lane]->state = State::ready;
  }
}

void EmulatedBlock::land(const Copy& copy) {
  if (copy.valid == 16)
    std::memcpy(copy.to, copy.from, 16);
  else if (copy.valid == 4)
    std::memcpy(copy.to, copy.from, 4);
  else
    std::memcpy(copy.to, copy.from, copy.valid);
  if (copy.valid < copy.bytes) std::memset(static_cast<char*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
}

void EmulatedBlock::copy(whet_block* thread, void* to, const void* from, std::uint32_t bytes, std::uint32_t valid) {
  Thread& self = whole(thread);
  const Copy made = {to, from, bytes, valid, self.group};
  self.copied = self.group + 1;
  if (!self.late) return land(made);
  std::memset(to, kNan, bytes);
  self.in_flight.push_back(made);
}

void EmulatedBlock::commit(whet_block* thread) {
  Thread& self = whole(thread);
  ++self.group;
  self.late = of(thread).rng_.chance(0.5);
}

void EmulatedBlock::wait(whet_block* thread, std::uint32_t pending) {
  Thread& self = whole(thread);
  if (self.group <= pending) return;
  self.waited = std::max(self.waited, self.group - pending);
  const auto first = std::ranges::find_if(self.in_flight, [&](const Copy& copy) { return copy.group >= self.waited; });
  std::for_each(self.in_flight.begin(), first, land);
  self.in_flight.erase(self.in_flight.begin(), first);
}

}  // namespace whet
