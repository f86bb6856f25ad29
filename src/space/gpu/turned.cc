#include "space/gpu/turned.h"

#include <algorithm>

#include "compute/affine.h"
#include "space/gpu/levels.h"
#include "space/gpu/safe.h"

namespace whet {
namespace {

constexpr std::int64_t kFewest = kTurnedTile / 2;  ///< elements of an axis that are worth a tile
constexpr std::int64_t kLines = 8;                 ///< of a tile that threads take at once

/// The axis that an index is, possibly shifted; nothing where it is anything else.
std::optional<std::size_t> axis_in(const Expr& index) {
  const Affine sum = to_affine(index);
  if (sum.terms.size() != 1 || sum.terms.front().second != 1) return std::nullopt;
  const Var* axis = std::get_if<Var>(&sum.terms.front().first->kind);
  return axis ? std::optional(axis->id.index()) : std::nullopt;
}

std::optional<TurnedRead> turned(const ComputeDag& dag, const Element& element, const Load& load) {
  const Op& tensor = dag.op(OpId(load.source.value));
  const std::size_t last = element.axes.size() - 1;
  const std::optional<std::size_t> along = axis_in(load.index.back());
  if (!tensor.is_placeholder() || std::get<Placeholder>(tensor.def).constant || !along || *along >= last)
    return std::nullopt;
  const auto across =
      std::find_if(load.index.begin(), load.index.end() - 1, [&](const Expr& index) { return axis_in(index) == last; });
  if (across == load.index.end() - 1) return std::nullopt;
  if (element.axes[*along].extent < kFewest || element.axes[last].extent < kFewest) return std::nullopt;
  return TurnedRead{OpId(load.source.value), OpId(), *along, static_cast<std::size_t>(across - load.index.begin())};
}

/// The op that reads the tensor in the DAG as it is written.
OpId reader_of(const ComputeDag& dag, OpId tensor) {
  const std::vector<OpId> readers = consumers_of(dag, tensor);
  return readers.size() == 1 ? readers.front() : OpId();
}

}  // namespace

std::optional<TurnedRead> find_turned_read(const ComputeDag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  Scheduler s(dag);
  inline_for_gpu(s);
  const OpId output = dag.outputs.front();
  for (std::size_t k = 0; k < dag.ops.size(); ++k)
    if (const OpId op(static_cast<std::int64_t>(k)); op != output && has_loops(s.tree(), op)) return std::nullopt;
  const Element& element = s.tree().dag.op(output).element();
  if (element.axes.size() < 2) return std::nullopt;
  std::optional<TurnedRead> found;
  for_each(element.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    if (load && !load->index.empty() && !found) found = turned(dag, element, *load);
  });
  if (!found) return std::nullopt;
  found->reader = reader_of(dag, found->tensor);
  return found->reader.valid() ? found : std::nullopt;
}

void build_turned(Scheduler& s, const TurnedRead& read) {
  const OpId copy = s.cache_read(read.tensor, read.reader), output = s.tree().dag.outputs.front();
  const auto count = static_cast<std::int64_t>(s.tree().dag.ops.size());
  for (std::int64_t k = 0; k < count; ++k)
    if (OpId(k) != copy && OpId(k) != output && has_loops(s.tree(), OpId(k))) s.inline_op(OpId(k));

  std::vector<LoopId> blocks = s.loops(output);
  const auto tile = [&](LoopId& loop) {
    const auto [outer, inner] = s.split(loop, std::min(kTurnedTile, extent_of(s.tree(), loop)), Tail::guard);
    loop = outer;
    return inner;
  };
  const LoopId down = tile(blocks[read.along]), lanes = tile(blocks.back());
  const auto lines = s.split(down, std::min(kLines, extent_of(s.tree(), down)), Tail::guard);
  std::vector<LoopId> order = blocks;
  for (LoopId loop : {lines.outer, lines.inner, lanes}) order.push_back(loop);
  s.reorder(order);
  const LoopId block = s.fuse(blocks);
  s.bind(block, LoopKind::block);
  s.bind(lines.inner, LoopKind::thread), s.bind(lanes, LoopKind::thread);

  const std::vector<LoopId> from = s.compute_at(copy, block, StoredIn::block);
  const LoopId across = from[read.across];
  const auto rows = s.split(across, std::min(kLines, extent_of(s.tree(), across)), Tail::guard);
  std::vector<LoopId> inside;
  for (std::size_t k = 0; k + 1 < from.size(); ++k)
    if (k != read.across) inside.push_back(from[k]);
  for (LoopId loop : {rows.outer, rows.inner, from.back()}) inside.push_back(loop);
  s.reorder(inside);
  s.bind(rows.inner, LoopKind::thread), s.bind(from.back(), LoopKind::thread);
  s.annotate(rows.outer, LoopKind::unrolled), s.annotate(lines.outer, LoopKind::unrolled);
  s.pad_storage(copy, 1);
}

}  // namespace whet
