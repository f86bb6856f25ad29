#include "schedule/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "schedule/annotate.h"
#include "schedule/check.h"
#include "target/gpu.h"

namespace whet {
namespace {

constexpr std::ptrdiff_t kMaxDimensions = 3;

std::int64_t threads_of(const LoopTree& tree, LoopId loop) {
  return is_reduce(tree, loop) ? threads_of_sum(extent_of(tree, loop)) : extent_of(tree, loop);
}

Status check_thread(const LoopTree& tree, const Bind& step, const std::vector<LoopId>& around) {
  std::int64_t threads = threads_of(tree, step.loop);
  const OpId op = tree.loop(step.loop).op;
  for (LoopId at : around) {
    if (tree.loop(at).kind == LoopKind::warp)
      return refuse(tree, step.loop, fmt::format("is inside loop {}, whose iterations are warps", name_of(tree, at)));
    if (tree.loop(at).kind != LoopKind::thread) continue;
    threads *= threads_of(tree, at);
    if (is_reduce(tree, at))
      return refuse(tree, step.loop,
                    fmt::format("is inside loop {}, which sums across threads and has to be the innermost of them",
                                name_of(tree, at)));
    if (tree.loop(at).op != op && !is_reduce(tree, step.loop) && tree.place(op).stored_in != StoredIn::registers)
      return refuse(tree, step.loop,
                    fmt::format("is inside the threads of loop {}, which belong to {}", name_of(tree, at),
                                tree.dag.op(tree.loop(at).op).name));
  }
  if (threads > kMaxBlockThreads)
    return refuse(tree, step.loop,
                  fmt::format("makes {} threads of a block; at most {} are possible", threads, kMaxBlockThreads));
  return ok_status();
}

/// A loop of warps: its body is what whole warps do together.
Status check_warp(const LoopTree& tree, const Bind& step, const std::vector<LoopId>& around) {
  const OpId op = tree.loop(step.loop).op;
  std::int64_t threads = extent_of(tree, step.loop) * kWarp;
  for (LoopId at : around) {
    const LoopKind kind = tree.loop(at).kind;
    if (kind == LoopKind::warp) threads *= extent_of(tree, at);
    if (kind != LoopKind::block && (kind != LoopKind::warp || tree.loop(at).op != op))
      return refuse(tree, step.loop,
                    fmt::format("is inside loop {}; around warps there are blocks and warps of the same op alone",
                                name_of(tree, at)));
  }
  for (LoopId own : own_loops(tree, op))
    if (const LoopKind kind = tree.loop(own).kind;
        own != step.loop && (kind == LoopKind::thread || kind == LoopKind::virtual_thread))
      return refuse(tree, step.loop,
                    fmt::format("runs on warps, and loop {} of the same op on threads", name_of(tree, own)));
  if (threads > kMaxBlockThreads)
    return refuse(tree, step.loop,
                  fmt::format("makes {} threads of a block; at most {} are possible", threads, kMaxBlockThreads));
  return ok_status();
}

/// A sum across threads.
Status check_sum(const LoopTree& tree, const Bind& step) {
  if (step.kind != LoopKind::thread || !is_rfactored(tree, step.loop))
    return refuse(tree, step.loop,
                  fmt::format("runs over a reduce axis, whose sum blocks and threads would race for{}",
                              step.kind == LoopKind::thread ? "; rfactor it first" : ""));
  const std::int64_t extent = extent_of(tree, step.loop);
  if (extent < kWarp && (extent < 2 || !std::has_single_bit(static_cast<std::uint64_t>(extent))))
    return refuse(
        tree, step.loop,
        fmt::format("has {} iterations; a sum across threads has 2, 4, 8 or 16, or {} and more", extent, kWarp));
  for (std::size_t k = 0; k < tree.loops.size(); ++k)
    if (const LoopId inside(static_cast<std::int64_t>(k));
        tree.loops[k].alive && tree.loops[k].kind == LoopKind::thread && encloses(tree, step.loop, inside) &&
        tree.place(tree.loops[k].op).stored_in != StoredIn::block)
      return refuse(tree, step.loop,
                    fmt::format("holds the threads of loop {}; a sum across threads has to be the innermost of them",
                                name_of(tree, inside)));
  return ok_status();
}

}  // namespace

std::int64_t threads_of_sum(std::int64_t partials) {
  return partials <= kWarp ? partials : (partials + kWarp - 1) / kWarp * kWarp;
}

Status apply(LoopTree& tree, const Bind& step) {
  WHET_RETURN_IF_ERROR(check_plain(tree, step.loop));
  if (is_reduce(tree, step.loop)) WHET_RETURN_IF_ERROR(check_sum(tree, step));
  WHET_RETURN_IF_ERROR(check_any_order(tree, step.loop));
  std::vector<LoopId> around = path_to(tree, step.loop);
  around.pop_back();
  // What fills block memory counts its threads for itself.
  const OpId op = tree.loop(step.loop).op;
  if (tree.place(op).stored_in == StoredIn::block)
    std::erase_if(around, [&](LoopId at) { return tree.loop(at).op != op && is_of_threads(tree.loop(at).kind); });
  const auto kind_of = [&](LoopId at) { return tree.loop(at).kind; };
  const auto is_block = [&](LoopId at) { return kind_of(at) == LoopKind::block; };
  if (step.kind == LoopKind::block && !std::all_of(around.begin(), around.end(), is_block))
    return refuse(tree, step.loop, "is inside a loop that is no block; blocks are the outermost loops");
  if (step.kind != LoopKind::block && std::none_of(around.begin(), around.end(), is_block))
    return refuse(tree, step.loop, "is under no block; bind an outer loop to blocks first");
  if (std::count_if(around.begin(), around.end(), [&](LoopId at) { return kind_of(at) == step.kind; }) >=
      kMaxDimensions)
    return refuse(tree, step.loop, fmt::format("would be one more than {} inside each other", kMaxDimensions));
  if (step.kind == LoopKind::thread) WHET_RETURN_IF_ERROR(check_thread(tree, step, around));
  if (step.kind == LoopKind::warp) WHET_RETURN_IF_ERROR(check_warp(tree, step, around));
  if (step.kind == LoopKind::virtual_thread && extent_of(tree, step.loop) > kMaxUnroll)
    return refuse(tree, step.loop,
                  fmt::format("has {} iterations; at most {} virtual threads are interleaved: split it first",
                              extent_of(tree, step.loop), kMaxUnroll));
  tree.loop(step.loop).kind = step.kind;
  return ok_status();
}

}  // namespace whet
