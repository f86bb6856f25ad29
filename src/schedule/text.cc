#include <fmt/format.h>

#include <functional>

#include "schedule/loop_tree.h"

namespace whet {
namespace {

/// The position of a leaf digit among the leaf digits of its axis, and how many there are.
std::pair<int, int> position(const LoopTree& tree, DigitId wanted) {
  int at = -1, count = 0;
  std::function<void(DigitId)> walk = [&](DigitId id) {
    const Digit& digit = tree.digit(id);
    if (!digit.leaf()) return walk(digit.outer), walk(digit.inner);
    if (id == wanted) at = count;
    ++count;
  };
  const Digit& digit = tree.digit(wanted);
  walk(tree.place(digit.op).axes[digit.axis.index()]);
  return {at, count};
}

/// "17", "floordiv((n + 7), 8)".
std::string count_of(const Expr& iterations) { return to_text(iterations, nullptr); }

/// Splits of the digits of a loop whose factor does not divide: "  # 17 by 6, guard".
std::string tails(const LoopTree& tree, LoopId id) {
  std::string text = is_rfactored(tree, id) ? "  # rfactor" : "";
  if (tree.loop(id).min_blocks > 0) text += fmt::format("  # min_blocks {}", tree.loop(id).min_blocks);
  for (const TensorTile& tile : tree.tiles)
    if (tile.loop == id) text += fmt::format("  # tensorize {}", name_of(tile.intrinsic));
  for (DigitId leaf : tree.loop(id).digits)
    for (const Digit& digit : tree.digits)
      if (!digit.leaf() && digit.outer == leaf && !digit.divides())
        text += fmt::format("  # {} by {}, {}", count_of(iterations_of(digit)), digit.factor,
                            digit.tail == Tail::overlap ? "overlap" : "guard");
  return text;
}

void print(const LoopTree& tree, const Item& item, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (item.leaf.valid()) {
    text += indent + tree.dag.op(item.leaf).name;
    for (const PackedRead& packed : tree.packs)
      if (packed.reader == item.leaf) text += fmt::format("  # {} packed", tree.dag.op(packed.tensor).name);
    text += "\n";
    return;
  }
  const TreeLoop& loop = tree.loop(item.loop);
  const Placement& place = tree.place(loop.op);
  const bool first = !loop.parent.valid() || tree.loop(loop.parent).op != loop.op;
  if (first && place.swizzle > 0)
    text += fmt::format("{}{} rows swizzled by {}\n", indent, tree.dag.op(loop.op).name, place.swizzle);
  if (first && place.padding > 0)
    text += fmt::format("{}{} rows + {}\n", indent, tree.dag.op(loop.op).name, place.padding);
  if (first && place.rolled.valid())
    text += fmt::format("{}{} rolled along {}\n", indent, tree.dag.op(loop.op).name, name_of(tree, place.rolled));
  if (first && place.stored_in != StoredIn::memory)
    text += fmt::format("{}{} @{}\n", indent, tree.dag.op(loop.op).name,
                        place.stored_in == StoredIn::block ? "block" : "registers");
  text += fmt::format("{}{} {} in {}{}\n", indent, word_of(loop.kind), name_of(tree, item.loop),
                      count_of(iterations_of(tree, item.loop)), tails(tree, item.loop));
  for (const RegisterCache& cache : tree.caches)
    if (cache.loop == item.loop) text += fmt::format("{}  cache {} @registers\n", indent, tree.dag.op(cache.op).name);
  for (const Pipelined& p : tree.pipelines)
    if (p.loop == item.loop) text += fmt::format("{}  pipeline {} stages\n", indent, p.stages);
  for (const OnlineSum& online : tree.onlines)
    if (online.loop == item.loop) text += fmt::format("{}  online {}\n", indent, tree.dag.op(online.mix).name);
  for (const PrefetchedRead& p : tree.prefetches)
    if (p.loop == item.loop)
      text += fmt::format("{}  prefetch {} of {} {} ahead\n", indent, tree.dag.op(p.tensor).name,
                          tree.dag.op(p.reader).name, p.ahead);
  for (const Item& child : loop.children) print(tree, child, depth + 1, text);
}

}  // namespace

std::string name_of(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  const auto [at, count] = position(tree, id);
  const std::string& axis = axis_of(tree.dag.op(digit.op).element(), digit.axis).name;
  return count > 1 ? fmt::format("{}.{}", axis, at) : axis;
}

std::string name_of(const LoopTree& tree, LoopId id) {
  std::string text;
  for (DigitId digit : tree.loop(id).digits) text += (text.empty() ? "" : "·") + name_of(tree, digit);
  return text;
}

std::string to_text(const LoopTree& tree) {
  std::string text;
  for (const Item& root : tree.roots) print(tree, root, 0, text);
  return text;
}

}  // namespace whet
