#include "compute/merge.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/affine.h"

namespace whet {
namespace {

/// Finds out which dimensions of which ops merge, beginning with one op's, and then writes the new DAG.
class Merger {
 public:
  Merger(const ComputeDag& dag, std::int64_t first, std::int64_t second) : dag_(dag), first_(first), second_(second) {}

  /// Dimensions `at` and `at` + 1 of `op`, and all that follows from them.
  Status mark(OpId id, std::int64_t at) {
    if (const auto found = merged_.find(id); found != merged_.end())
      return found->second == at ? ok_status() : refuse(id, "has them twice");
    const Op& op = dag_.op(id);
    const auto dim = static_cast<std::size_t>(at);
    if (op.shape[dim] != first_ || op.shape[dim + 1] != second_) return refuse(id, "has other extents");
    if (is_constant(dag_, id)) return refuse(id, "is constant");
    merged_[id] = at;
    if (!op.is_placeholder()) WHET_RETURN_IF_ERROR(mark_read(id));
    for (OpId reader : consumers_of(dag_, id)) WHET_RETURN_IF_ERROR(mark_reader(reader, id));
    return ok_status();
  }

  ComputeDag run() const {
    ComputeDag result = dag_;
    for (const auto& [id, at] : merged_) {
      Op& op = result.op(id);
      const auto dim = static_cast<std::ptrdiff_t>(at);
      op.shape.erase(op.shape.begin() + dim);
      op.shape[static_cast<std::size_t>(dim)] = first_ * second_;
      if (!op.is_placeholder()) rewrite_element(id, op.element());
    }
    return result;
  }

 private:
  Error refuse(OpId id, const char* why) const { return Error{"op " + dag_.op(id).name + " " + why}; }

  /// The spatial axis that an index is, but for variables that are always 0; or -1.
  static std::int64_t axis_at(const Element& element, const Expr& index) {
    const Affine sum = to_affine(substitute(
        index, [&](VarId v) { return axis_of(element, AxisId(v.value)).extent == 1 ? int_const(0) : Expr(); }));
    if (sum.constant != 0 || sum.terms.size() != 1 || sum.terms.front().second != 1) return -1;
    const Var* v = std::get_if<Var>(&sum.terms.front().first->kind);
    return v && v->id.value < static_cast<std::int64_t>(element.axes.size()) ? v->id.value : -1;
  }

  /// The dimension from which on a load has axes `at` and `at` + 1 as its indices.
  static std::optional<std::size_t> place(const Element& element, const Load& read, std::int64_t at) {
    for (std::size_t k = 0; k + 1 < read.index.size(); ++k)
      if (axis_at(element, read.index[k]) == at && axis_at(element, read.index[k + 1]) == at + 1) return k;
    return std::nullopt;
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
    if (uses(rest, VarId(at)) || uses(rest, VarId(at + 1))) return refuse(id, "uses one of them by itself");
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
    return fits ? mark(reader, *axis) : Status(refuse(reader, "reads them otherwise than element by element"));
  }

  void rewrite_element(OpId id, Element& element) const {
    const std::int64_t at = merged_.at(id);
    const auto axes = element.axes.begin() + static_cast<std::ptrdiff_t>(at);
    axes[1] = {axes[0].name + axes[1].name, first_ * second_, axes[1].role};
    element.axes.erase(axes);
    const Element& now = element;
    const auto renumbered = [&](VarId v) { return v.value > at ? axis_var(now, v.value - 1) : Expr(); };
    element.body = rewrite(element.body, [&](const Expr& e) {
      if (const Var* v = std::get_if<Var>(&e->kind)) return renumbered(v->id);
      const Load* read = std::get_if<Load>(&e->kind);
      const auto source = read ? merged_.find(OpId(read->source.value)) : merged_.end();
      if (source == merged_.end()) return Expr();
      std::vector<Expr> index;
      for (const Expr& each : read->index) index.push_back(substitute(each, renumbered));
      const auto dim = index.begin() + static_cast<std::ptrdiff_t>(source->second);
      dim[1] = axis_var(now, at);
      index.erase(dim);
      return load(e->dtype, read->source, std::move(index));
    });
  }

  const ComputeDag& dag_;
  std::int64_t first_, second_;          ///< the extents
  std::map<OpId, std::int64_t> merged_;  ///< the first of the two dimensions, and of an element's axes
};

}  // namespace

Result<ComputeDag> merge_axes(const ComputeDag& dag, OpId op, std::int64_t axis) {
  const Op& start = dag.op(op);
  if (start.is_placeholder() || axis < 0 || axis > static_cast<std::int64_t>(start.shape.size()) - 2)
    return Error{"op " + start.name + " has no axes " + std::to_string(axis) + " and " + std::to_string(axis + 1)};
  const auto dim = static_cast<std::size_t>(axis);
  Merger merger(dag, start.shape[dim], start.shape[dim + 1]);
  WHET_RETURN_IF_ERROR(merger.mark(op, axis));
  return merger.run();
}

}  // namespace whet
