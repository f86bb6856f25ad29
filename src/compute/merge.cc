#include "compute/merge.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compute/affine.h"

namespace whet {
namespace {

/// Finds out which dimensions of which ops merge, beginning with one op's, and then writes the new DAG.
class Merger {
 public:
  Merger(const ComputeDag& dag, OpId start, const Axis& first, const Axis& second)
      : dag_(dag), first_(first.extent), second_(second.extent), first_size_(first.size), second_size_(second.size) {
    for (OpId input : inputs_of(dag, start)) of_copies_ = of_copies_ || is_unfolded(input);
  }

  /// Axes `at` and `at` + 1 of `op`, and all that follows from them.
  Status mark(OpId id, std::int64_t at) {
    if (const auto found = merged_.find(id); found != merged_.end())
      return found->second == at ? ok_status() : refuse(id, "has them twice");
    if (extent(id, at) != first_ || extent(id, at + 1) != second_ || !same(size(id, at), first_size_) ||
        !same(size(id, at + 1), second_size_))
      return refuse(id, "has other extents");
    if (is_constant(dag_, id) && !is_unfolded(id)) return refuse(id, "is constant");
    merged_[id] = at;
    if (is_unfolded(id)) {
      // Where its source cannot follow, it divides.
      if (!attempt([id](Merger& m) { return m.mark_read(id); })) divided_.insert(id);
    } else if (!dag_.op(id).is_placeholder()) {
      WHET_RETURN_IF_ERROR(mark_read(id));
    }
    if (is_reduce(id, at)) return ok_status();
    for (OpId reader : consumers_of(dag_, id)) WHET_RETURN_IF_ERROR(mark_reader(reader, id));
    return ok_status();
  }

  ComputeDag run() const {
    ComputeDag result = dag_;
    for (std::size_t k = 0; k < result.ops.size(); ++k) {
      Op& op = result.ops[k];
      const OpId id(static_cast<std::int64_t>(k));
      const auto found = merged_.find(id);
      if (found != merged_.end() && !is_reduce(id, found->second)) {
        const auto dim = op.shape.begin() + static_cast<std::ptrdiff_t>(found->second);
        dim[1] = first_ * second_;
        op.shape.erase(dim);
        if (!op.sizes.empty()) {
          const auto merged = op.sizes.begin() + static_cast<std::ptrdiff_t>(found->second);
          merged[1] = merged_size();
          op.sizes.erase(merged);
        }
      }
      if (op.is_placeholder()) continue;
      if (found != merged_.end()) merge_axes_of(id, op.element());
      rewrite_body(id, op.element());
    }
    return result;
  }

 private:
  Error refuse(OpId id, const char* why) const { return Error{"op " + dag_.op(id).name + " " + why}; }

  bool is_unfolded(OpId id) const {
    return !dag_.op(id).is_placeholder() && dag_.op(id).element().family == OpFamily::unfold;
  }
  bool is_reduce(OpId id, std::int64_t at) const { return at >= static_cast<std::int64_t>(dag_.op(id).shape.size()); }
  std::int64_t extent(OpId id, std::int64_t at) const {
    return is_reduce(id, at) ? axis_of(dag_.op(id).element(), AxisId(at)).extent
                             : dag_.op(id).shape[static_cast<std::size_t>(at)];
  }

  Expr size(OpId id, std::int64_t at) const {
    const Op& op = dag_.op(id);
    if (is_reduce(id, at)) return axis_of(op.element(), AxisId(at)).size;
    return op.sizes.empty() ? Expr() : op.sizes[static_cast<std::size_t>(at)];
  }
  Expr merged_size() const {
    if (!first_size_.defined() && !second_size_.defined()) return {};
    return first_size_.defined() ? first_size_ * second_iterations() : second_size_ * first_;
  }
  Expr second_iterations() const { return second_size_.defined() ? second_size_ : int_const(second_); }

  /// The axis that an index names, or -1. Variables of axes with one element are 0.
  std::int64_t axis_at(const Element& element, const Expr& index) const {
    if (const Var* v = std::get_if<Var>(&index->kind); v && of_copies_) return v->id.value;
    const Affine sum = to_affine(substitute(index, [&](VarId v) {
      const bool single =
          v.valid() && axis_of(element, AxisId(v.value)).extent == 1 && !is_sized(axis_of(element, AxisId(v.value)));
      return single ? int_const(0) : Expr();
    }));
    if (sum.constant != 0 || sum.terms.size() != 1 || sum.terms.front().second != 1) return -1;
    const Var* v = std::get_if<Var>(&sum.terms.front().first->kind);
    return v ? v->id.value : -1;
  }

  /// The dimension from which on a load has axes `at` and `at` + 1 as its indices.
  std::optional<std::size_t> place(const Element& element, const Load& read, std::int64_t at) const {
    for (std::size_t k = 0; k + 1 < read.index.size(); ++k)
      if (axis_at(element, read.index[k]) == at && axis_at(element, read.index[k + 1]) == at + 1) return k;
    return std::nullopt;
  }

  /// True where `marks` succeeds; else nothing is marked.
  template <typename Marks>
  bool attempt(const Marks& marks) {
    Merger trial = *this;
    if (!marks(trial).ok()) return false;
    merged_ = std::move(trial.merged_), divided_ = std::move(trial.divided_);
    return true;
  }

  /// What an op reads along its two axes has them as neighbours too; they occur nowhere else.
  Status mark_read(OpId id) {
    const Element& element = dag_.op(id).element();
    const std::int64_t at = merged_.at(id);
    std::vector<std::pair<OpId, std::int64_t>> sources;
    const Expr rest = rewrite(element.body, [&](const Expr& e) {
      const Load* read = std::get_if<Load>(&e->kind);
      const std::optional<std::size_t> k = read ? place(element, *read, at) : std::nullopt;
      if (!k) return Expr();
      sources.emplace_back(OpId(read->source.value), static_cast<std::int64_t>(*k));
      std::vector<Expr> index = read->index;
      index[*k] = index[*k + 1] = int_const(0);
      return load(e->dtype, read->source, std::move(index));
    });
    if (uses(rest, VarId(at)) || uses(rest, VarId(at + 1))) return refuse(id, "uses one of them alone");
    for (const auto& [source, k] : sources) WHET_RETURN_IF_ERROR(mark(source, k));
    return ok_status();
  }

  Status mark_reader(OpId reader, OpId source) {
    const Element& element = dag_.op(reader).element();
    const auto dim = static_cast<std::size_t>(merged_.at(source));
    std::optional<std::int64_t> axis;
    bool fits = true;
    for_each(element.body, [&](const Expr& e) {
      const Load* read = std::get_if<Load>(&e->kind);
      if (!read || read->source.value != source.value) return;
      const std::int64_t a = axis_at(element, read->index[dim]), b = axis_at(element, read->index[dim + 1]);
      fits = fits && a >= 0 && b == a + 1 && axis.value_or(a) == a;
      axis = a;
    });
    // A reduction over two axes of a tensor is of its own shape; only a copy made for it merges them.
    fits = fits && axis && (!is_reduce(reader, *axis) || is_unfolded(source)) &&
           is_reduce(reader, *axis) == is_reduce(reader, *axis + 1);
    if (!of_copies_)
      return fits ? mark(reader, *axis) : Status(refuse(reader, "does not read them element by element"));
    // It counts the two in the merged one where it cannot follow.
    if (fits) attempt([&](Merger& m) { return m.mark(reader, *axis); });
    return ok_status();
  }

  void merge_axes_of(OpId id, Element& element) const {
    const std::int64_t at = merged_.at(id), spatial = static_cast<std::int64_t>(element.axes.size());
    std::vector<Axis>& list = at < spatial ? element.axes : element.reduce_axes;
    const auto axes = list.begin() + static_cast<std::ptrdiff_t>(at < spatial ? at : at - spatial);
    axes[1] = {axes[0].name + axes[1].name, first_ * second_, axes[1].role, merged_size()};
    list.erase(axes);
  }

  /// `element`: with merged axes, and the body of the op as it was.
  void rewrite_body(OpId id, Element& element) const {
    const auto found = merged_.find(id);
    const std::int64_t at = found == merged_.end() ? -1 : found->second;
    const Element& before = dag_.op(id).element();
    const Element& now = element;
    const bool divides = divided_.count(id) != 0;
    const auto renumbered = [&](VarId v) {
      if (at < 0) return Expr();
      if (divides && v.value == at) return floordiv(axis_var(now, at), second_iterations());
      if (divides && v.value == at + 1) return floormod(axis_var(now, at), second_iterations());
      return v.value > at ? axis_var(now, v.value - 1) : Expr();
    };
    element.body = rewrite(element.body, [&](const Expr& e) {
      if (const Var* v = std::get_if<Var>(&e->kind)) return renumbered(v->id);
      const Load* read = std::get_if<Load>(&e->kind);
      const auto source = read ? merged_.find(OpId(read->source.value)) : merged_.end();
      if (source == merged_.end() || is_reduce(source->first, source->second)) return Expr();
      std::vector<Expr> index;
      for (const Expr& each : read->index) index.push_back(substitute(each, renumbered));
      const auto dim = index.begin() + static_cast<std::ptrdiff_t>(source->second);
      const bool follows = at >= 0 && !divides && place(before, *read, at) == static_cast<std::size_t>(source->second);
      dim[1] = follows ? axis_var(now, at) : dim[0] * second_iterations() + dim[1];
      index.erase(dim);
      return load(e->dtype, read->source, std::move(index));
    });
  }

  const ComputeDag& dag_;
  std::int64_t first_, second_;          ///< the extents
  Expr first_size_, second_size_;        ///< these as functions of sizes; undefined: the same at all sizes
  bool of_copies_ = false;               ///< the first op reads unfolded copies: axes of one element merge as well
  std::map<OpId, std::int64_t> merged_;  ///< the first of the two axes
  std::set<OpId> divided_;               ///< of these, those that read the two axes as before
};

}  // namespace

Result<ComputeDag> merge_axes(const ComputeDag& dag, OpId op, std::int64_t axis) {
  const Op& start = dag.op(op);
  const auto spatial = start.is_placeholder() ? 0 : static_cast<std::int64_t>(start.element().axes.size());
  const auto all = start.is_placeholder() ? 0 : spatial + static_cast<std::int64_t>(start.element().reduce_axes.size());
  if (axis < 0 || axis > all - 2 || axis == spatial - 1)
    return Error{"op " + start.name + " has no axes " + std::to_string(axis) + " and " + std::to_string(axis + 1)};
  const Axis &first = axis_of(start.element(), AxisId(axis)), &second = axis_of(start.element(), AxisId(axis + 1));
  Merger merger(dag, op, first, second);
  WHET_RETURN_IF_ERROR(merger.mark(op, axis));
  return merger.run();
}

}  // namespace whet
