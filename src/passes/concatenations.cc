#include "passes/concatenations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/dead_code.h"
#include "passes/fuse.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// Along one dimension; the end is not in it.
struct Span {
  std::int64_t begin = 0, end = 0;
};

/// What a slice takes along `axis`; nothing where it takes no neighbours.
std::optional<Span> span_along(const SliceOperator& op, std::size_t axis) {
  if (op.steps[axis] != 1 && op.shape[axis] != 1) return std::nullopt;
  return Span{op.starts[axis], op.starts[axis] + op.shape[axis]};
}

/// A value that is another one with `part` in the place of a span.
struct Write {
  ValueId before, part;
  std::size_t place = 0;  ///< of the part among the operands; the others are slices of `before`
  std::size_t axis = 0;
  Span span;
};

/// The chains of writes of a graph, and what is read of them.
class Writes {
 public:
  explicit Writes(const Graph& graph)
      : graph_(graph), producers_(graph.values.size(), nullptr), writes_(graph.values.size()) {
    find_writes();
    if (!any_) return;
    find_readers();
    find_needed();
  }

  bool any() const { return any_; }
  /// The last write of a value; null where it is of no long chain.
  const Write* at(ValueId id) const {
    const auto& write = writes_[id.index()];
    return write ? &*write : nullptr;
  }
  /// Whether something reads the value that is no write behind it.
  bool is_needed(ValueId id) const { return needed_[id.index()]; }

  /// The slice of a value that is the slice `op` of `value`, as far back as a few steps lead.
  struct Source {
    ValueId value;
    SliceOperator op;
  };
  Source source_of(ValueId value, SliceOperator op) const {
    constexpr int kMostSteps = 64;
    const Write* last = at(value);
    for (int step = 0; step < kMostSteps && last; ++step) {
      const std::optional<Span> read = span_along(op, last->axis);
      if (!read) break;
      if (read->begin >= last->span.begin && read->end <= last->span.end) {
        op.starts[last->axis] -= last->span.begin;
        value = last->part;
      } else if (read->end <= last->span.begin || read->begin >= last->span.end) {
        value = last->before;
      } else {
        break;
      }
      last = at(value);
    }
    return {value, std::move(op)};
  }

  /// Whether the slice is only what a write keeps of the value before it.
  bool is_kept_alone(const Node& slice) const { return !read_by_others_[slice.output.index()]; }

 private:
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

  /// The span of a slice that takes all of the other dimensions, of a value of the shape `whole`.
  std::optional<Span> kept(ValueId id, std::size_t axis, const Shape& whole) const {
    const Node* node = producers_[id.index()];
    const auto* op = node ? std::get_if<SliceOperator>(&node->op) : nullptr;
    if (!op || shape(node->inputs[0]) != whole) return std::nullopt;
    for (std::size_t d = 0; d < whole.size(); ++d)
      if (d != axis && (op->shape[d] != whole[d] || op->starts[d] != 0 || op->steps[d] != 1)) return std::nullopt;
    return span_along(*op, axis);
  }

  std::optional<Write> write_of(const Node& node) const {
    const auto* concat = std::get_if<ConcatOperator>(&node.op);
    if (!concat || node.inputs.size() < 2 || node.inputs.size() > 3) return std::nullopt;
    const Shape& whole = shape(node.output);
    const auto axis = static_cast<std::size_t>(concat->axis);
    const std::optional<Span> front = kept(node.inputs.front(), axis, whole);
    const std::optional<Span> back = kept(node.inputs.back(), axis, whole);
    const auto source = [&](ValueId slice) { return producers_[slice.index()]->inputs[0]; };
    const bool has_front = front && front->begin == 0, has_back = back && back->end == whole[axis];
    if (node.inputs.size() == 3) {
      if (!has_front || !has_back || source(node.inputs[0]) != source(node.inputs[2])) return std::nullopt;
      return Write{source(node.inputs[0]), node.inputs[1], 1, axis, {front->end, back->begin}};
    }
    if (has_front) return Write{source(node.inputs[0]), node.inputs[1], 1, axis, {front->end, whole[axis]}};
    if (has_back) return Write{source(node.inputs[1]), node.inputs[0], 0, axis, {0, back->begin}};
    return std::nullopt;
  }

  /// Of short chains none are left.
  void find_writes() {
    std::vector<int> length(graph_.values.size(), 0);  // up to the value; then of the longest chain through it
    for (const Node& node : graph_.nodes) {
      std::optional<Write>& write = writes_[node.output.index()] = write_of(node);
      producers_[node.output.index()] = &node;
      if (write) length[node.output.index()] = 1 + (goes_on(*write) ? length[write->before.index()] : 0);
    }
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      std::optional<Write>& write = writes_[node->output.index()];
      if (!write) continue;
      const int longest = length[node->output.index()];
      if (goes_on(*write)) length[write->before.index()] = std::max(length[write->before.index()], longest);
      if (longest < kFewestWrites) write.reset();
      any_ = any_ || write;
    }
  }
  bool goes_on(const Write& write) const {
    const Write* before = at(write.before);
    return before && before->axis == write.axis;
  }

  void find_readers() {
    read_by_others_.assign(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      const Write* write = at(node.output);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (!write || k == write->place) read_by_others_[node.inputs[k].index()] = true;
    }
    for (ValueId id : graph_.outputs) read_by_others_[id.index()] = true;
  }

  void find_needed() {
    needed_.assign(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      const auto* slice = std::get_if<SliceOperator>(&node.op);
      if (!slice) {
        for (ValueId id : node.inputs) needed_[id.index()] = true;
      } else if (!is_kept_alone(node)) {
        needed_[source_of(node.inputs[0], *slice).value.index()] = true;
      }
    }
    for (ValueId id : graph_.outputs) needed_[id.index()] = true;
  }

  const Graph& graph_;
  std::vector<const Node*> producers_;        ///< by value, as are all
  std::vector<std::optional<Write>> writes_;  ///< of long chains
  std::vector<bool> read_by_others_;          ///< than writes that keep a slice
  std::vector<bool> needed_;
  bool any_ = false;
};

/// Spans of one dimension that are taken, and the gaps between them.
class TakenSpans {
 public:
  /// Takes what is free of `span`, and gives it.
  std::vector<Span> take(Span span) {
    std::vector<Span> free;
    auto next = ends_.upper_bound(span.begin);
    if (next != ends_.begin() && std::prev(next)->second >= span.begin) --next;
    Span whole = span;
    while (next != ends_.end() && next->first <= span.end) {
      if (whole.begin > next->first) whole.begin = next->first;
      if (span.begin < next->first) free.push_back({span.begin, next->first});
      span.begin = std::max(span.begin, next->second);
      whole.end = std::max(whole.end, next->second);
      next = ends_.erase(next);
    }
    if (span.begin < span.end) free.push_back(span);
    ends_[whole.begin] = whole.end;
    return free;
  }

 private:
  std::map<std::int64_t, std::int64_t> ends_;  ///< by begin; no two touch
};

class Joining {
 public:
  Joining(const Graph& from, const Writes& writes)
      : writes_(writes), rewriter_(from), is_joined_(from.values.size(), false) {}

  Status visit(const Node& node) {
    if (const auto* slice = std::get_if<SliceOperator>(&node.op); slice && !writes_.is_kept_alone(node)) {
      const auto source = writes_.source_of(node.inputs[0], *slice);
      if (source.value != node.inputs[0]) return read(node, source);
    }
    const Write* write = writes_.at(node.output);
    return write && writes_.is_needed(node.output) ? join(node, *write) : rewriter_.copy(node);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  const Shape& shape(ValueId old) const { return rewriter_.from().value(old).type.shape; }

  Status read(const Node& node, const Writes::Source& source) {
    if (shape(source.value) == shape(node.output) && source.op.steps == Shape(source.op.steps.size(), 1))
      return rewriter_.replace(node.output, rewriter_.now(source.value)), ok_status();
    return rewriter_.copy_as(node, source.op, {rewriter_.now(source.value)});
  }

  /// What is written last at each place, back to a value that is there.
  Status join(const Node& node, const Write& last) {
    struct Piece {
      ValueId value;
      Span span;  ///< of the value
    };
    std::map<std::int64_t, Piece> pieces;
    TakenSpans taken;
    const Write* write = &last;
    ValueId base;
    do {
      for (const Span& span : taken.take(write->span))
        pieces[span.begin] = {write->part, {span.begin - write->span.begin, span.end - write->span.begin}};
      base = write->before;
      write = is_joined_[base.index()] ? nullptr : writes_.at(base);
    } while (write && write->axis == last.axis);
    for (const Span& span : taken.take({0, shape(node.output)[last.axis]})) pieces[span.begin] = {base, span};
    std::vector<ValueId> parts;
    for (const auto& [begin, piece] : pieces) {
      WHET_TRY(const ValueId part, sliced(node.name, piece.value, last.axis, piece.span));
      parts.push_back(part);
    }
    is_joined_[node.output.index()] = true;
    return rewriter_.copy_as(node, node.op, std::move(parts));
  }

  Result<ValueId> sliced(const std::string& name, ValueId old, std::size_t axis, const Span& span) {
    const Shape& from = shape(old);
    if (span.begin == 0 && span.end == from[axis]) return rewriter_.now(old);
    SliceOperator op{Shape(from.size(), 0), Shape(from.size(), 1), from};
    op.starts[axis] = span.begin;
    op.shape[axis] = span.end - span.begin;
    return rewriter_.emit(name + "_left", op, {rewriter_.now(old)});
  }

  const Writes& writes_;
  Rewriter rewriter_;
  std::vector<bool> is_joined_;  ///< by old value
};

}  // namespace

Result<Graph> join_written_parts(const Graph& from) {
  const Writes writes(from);
  if (!writes.any()) return from;
  Joining joining(from, writes);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(joining.visit(node));
  return remove_dead_code(std::move(joining).finish());
}

Result<Graph> split_long_concats(const Graph& from) {
  const auto is_long = [](const Node& node) {
    return std::holds_alternative<ConcatOperator>(node.op) && node.inputs.size() > kMostParts;
  };
  if (std::none_of(from.nodes.begin(), from.nodes.end(), is_long)) return from;
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    if (!is_long(node)) {
      WHET_RETURN_IF_ERROR(rewriter.copy(node));
      continue;
    }
    std::vector<ValueId> parts = rewriter.now(node.inputs);
    while (parts.size() > kMostParts) {
      const std::size_t kernels = (parts.size() + kMostParts - 1) / kMostParts;
      const std::size_t each = (parts.size() + kernels - 1) / kernels;  // as equal as can be: they are one task
      std::vector<ValueId> joined;
      for (std::size_t k = 0; k < parts.size(); k += each) {
        const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(k);
        const auto end = parts.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), k + each));
        WHET_TRY(const ValueId part, rewriter.emit(node.name + "_part", node.op, {begin, end}));
        joined.push_back(part);
      }
      parts = std::move(joined);
    }
    WHET_RETURN_IF_ERROR(rewriter.copy_as(node, node.op, std::move(parts)));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
