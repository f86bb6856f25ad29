#include "schedule/bind.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/annotate.h"
#include "schedule/check.h"

namespace whet {
namespace {

constexpr std::ptrdiff_t kMaxDimensions = 3;

Status check_thread(const LoopTree& tree, const Bind& step, const std::vector<LoopId>& around) {
  std::int64_t threads = extent_of(tree, step.loop);
  const OpId op = tree.loop(step.loop).op;
  for (LoopId at : around) {
    if (tree.loop(at).kind != LoopKind::thread) continue;
    threads *= extent_of(tree, at);
    if (tree.loop(at).op != op)
      return refuse(tree, step.loop,
                    fmt::format("is inside the threads of loop {}, which belong to {}", name_of(tree, at),
                                tree.dag.op(tree.loop(at).op).name));
  }
  if (threads > kMaxBlockThreads)
    return refuse(tree, step.loop,
                  fmt::format("makes {} threads of a block; at most {} are possible", threads, kMaxBlockThreads));
  return ok_status();
}

}  // namespace

Status apply(LoopTree& tree, const Bind& step) {
  WHET_RETURN_IF_ERROR(check_plain(tree, step.loop));
  if (is_reduce(tree, step.loop))
    return refuse(tree, step.loop, "runs over a reduce axis, whose sum blocks and threads would race for");
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
  if (step.kind == LoopKind::virtual_thread && extent_of(tree, step.loop) > kMaxUnroll)
    return refuse(tree, step.loop,
                  fmt::format("has {} iterations; at most {} virtual threads are interleaved: split it first",
                              extent_of(tree, step.loop), kMaxUnroll));
  tree.loop(step.loop).kind = step.kind;
  return ok_status();
}

}  // namespace whet
