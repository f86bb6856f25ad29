#include "program/verify_launch.h"

#include <set>
#include <utility>

namespace whet {
namespace {

/// An SM holds the blocks that the launch asks for.
void residents(VerifyState& state, const LaunchNest& nest) {
  const std::int64_t wanted = nest.blocks->min_blocks;
  const GpuLimits& limits = *state.options.launches;
  const std::int64_t threads = std::int64_t{limits.warps_per_sm} * kWarp;
  if (wanted * nest.size <= threads && wanted <= limits.blocks_per_sm) return;
  state.fail(std::to_string(wanted) + " blocks of " + std::to_string(nest.size) +
                 " threads are to be on an SM at once, which holds " + std::to_string(threads) + " threads and " +
                 std::to_string(limits.blocks_per_sm) + " blocks",
             ErrorKind::limit);
}

/// All buffers of the launch lie in a block's memory at once.
void block_memory(VerifyState& state, const LaunchNest& nest) {
  std::set<std::size_t> used;
  for_each(
      nest.body,
      [&](const Stmt& s) {
        if (const auto* n = std::get_if<Store>(&s->kind); n && n->buffer.valid()) used.insert(n->buffer.index());
      },
      [&](const Expr& whole) {
        for_each(whole, [&](const Expr& e) {
          if (const auto* n = std::get_if<Load>(&e->kind); n && state.known(n->source)) used.insert(n->source.index());
        });
      });
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < state.program.buffers.size(); ++k) {
    const Buffer& b = state.program.buffers[k];
    if (b.scope == Scope::block && used.contains(k)) bytes += num_elements(b.extents) * size_of(b.dtype);
  }
  const std::int64_t limit = state.options.launches->block_memory_per_block;
  if (bytes > limit)
    state.fail("a block needs " + std::to_string(bytes) + " bytes of memory, of " + std::to_string(limit),
               ErrorKind::limit);
}

}  // namespace

std::optional<LaunchNest> verify_launch(VerifyState& state, const Stmt& s) {
  const auto refused = [&](std::string what) {
    state.fail(std::move(what));
    return std::nullopt;
  };
  const auto* blocks = std::get_if<Loop>(&s->kind);
  if (!blocks || blocks->kind != LoopKind::block) return refused("a statement beside the launches is no grid barrier");
  const auto* threads = blocks->body.defined() ? std::get_if<Loop>(&blocks->body->kind) : nullptr;
  if (!threads || threads->kind != LoopKind::thread)
    return refused("the block loop '" + blocks->name + "' is not directly around one thread loop");
  const std::optional<LaunchNest> nest = launch_nest(s);
  if (!nest)
    return refused("the loops '" + blocks->name + "' and '" + threads->name +
                   "' of a launch are not from 0 with constant extents, or the threads are no multiple of 32 up to " +
                   std::to_string(kMostThreads));
  block_memory(state, *nest);
  residents(state, *nest);
  if (state.failed()) return std::nullopt;
  return nest;
}

void verify_together(VerifyState& state, const std::string& what) {
  if (state.failed() || state.varying.empty()) return;
  state.fail(what + " is under a condition or bound that differs between threads, or is data: " +
             state.text(state.varying.back()));
}

void verify_group(VerifyState& state, const CopyGroup& n) {
  if (!state.launch) return state.fail("a group of asynchronous copies is outside of a launch");
  state.need(n.pending >= 0, [&] { return "a wait for all but " + std::to_string(n.pending) + " groups"; });
  verify_together(state, n.kind == CopyGroup::Kind::commit ? "a commit" : "a wait");
}

void verify_copy(VerifyState& state, const Store& n, const std::string& what) {
  if (state.failed()) return;
  const Buffer& b = state.program.buffer(n.buffer);
  state.need(state.options.launches->async_copy, [&] {
    return what + " is asynchronous, which compute capability " + std::to_string(state.options.launches->arch) +
           " cannot";
  });
  state.need(b.scope == Scope::block && copied_load(state.program, n.value),
             [&] { return what + " is asynchronous, but no copy from an argument or workspace into block memory"; });
  state.need(!n.mask.defined() || n.mask->lanes == 1, [&] { return what + " is asynchronous under a mask of lanes"; });
  const std::int64_t bytes = size_of(b.dtype) * n.value->lanes * state.vector;
  state.need(bytes == 4 || bytes == 8 || bytes == 16,
             [&] { return what + " copies " + std::to_string(bytes) + " bytes asynchronously, not 4, 8 or 16"; });
}

}  // namespace whet
