#include "ranges/follow.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace whet {
namespace {

/// The dimensions whose extents differ.
std::vector<std::int64_t> changed_dimensions(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> changed;
  for (std::size_t d = 0; d < a.size() && d < b.size(); ++d)
    if (a[d] != b[d]) changed.push_back(static_cast<std::int64_t>(d));
  return changed;
}

/// Whether an operator computes along dimension `d` of its first operand, or takes a part of it.
bool works_along(const Operator& op, std::int64_t d) {
  const auto has = [d](const std::vector<std::int64_t>& axes) {
    return std::find(axes.begin(), axes.end(), d) != axes.end();
  };
  if (const auto* n = std::get_if<SoftmaxOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ReduceOperator>(&op)) return has(n->axes);
  if (const auto* n = std::get_if<ConcatOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<GatherOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<GatherElementsOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ScatterElementsOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ArgReduceOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<TopKOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<CumSumOperator>(&op)) return n->axis == d;
  return false;
}

class Follower {
 public:
  Follower(const std::string& size, const FollowedGraph& a, const FollowedGraph& b) : size_(size), a_(a), b_(b) {}

  Status run() const {
    if (a_.graph.nodes.size() != b_.graph.nodes.size())
      return Error{"the model has " + std::to_string(a_.graph.nodes.size()) + " nodes" + at(a_) + " and " +
                   std::to_string(b_.graph.nodes.size()) + at(b_)};
    for (std::size_t n = 0; n < a_.graph.nodes.size(); ++n) WHET_RETURN_IF_ERROR(node(n));
    for (std::size_t k = 0; k < a_.graph.outputs.size(); ++k) {
      const Value& output = a_.graph.value(a_.graph.outputs[k]);
      if (!changed(a_.graph.outputs[k], b_.graph.outputs[k]).empty()) continue;
      return Error{"output \"" + output.name + "\" is " + to_string(output.type.shape) + " whatever " + size_ + " is"};
    }
    return ok_status();
  }

 private:
  std::string at(const FollowedGraph& opened) const { return " at " + size_ + " = " + std::to_string(opened.extent); }

  std::vector<std::int64_t> changed(ValueId a, ValueId b) const {
    return changed_dimensions(a_.graph.value(a).type.shape, b_.graph.value(b).type.shape);
  }

  Status node(std::size_t n) const {
    const Node &a = a_.graph.nodes[n], &b = b_.graph.nodes[n];
    const auto fail = [&](const std::string& what) { return Status(Error{"node \"" + a.name + "\" " + what}); };
    if (a.op.index() != b.op.index() || a.inputs.size() != b.inputs.size()) return fail("is another one" + at(b_));
    const Shape &from = a_.graph.value(a.output).type.shape, &to = b_.graph.value(b.output).type.shape;
    bool reads = false;
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      const auto dimensions = changed(a.inputs[i], b.inputs[i]);
      reads = reads || !dimensions.empty();
      if (i > 0 && !std::holds_alternative<ConcatOperator>(a.op)) continue;
      for (const std::int64_t d : dimensions)
        if (works_along(a.op, d)) return fail("computes along " + size_ + ", which the file has fixed");
    }
    const auto dimensions = changed_dimensions(from, to);
    const std::string gives = "gives " + to_string(from);
    if (from.size() != to.size() || dimensions.size() > 1)
      return fail(gives + at(a_) + " and " + to_string(to) + at(b_));
    if (dimensions.empty()) return reads ? fail(gives + " whatever " + size_ + " is") : ok_status();
    const auto d = static_cast<std::size_t>(dimensions.front());
    // As many times the extent at both: rows of rows.
    if (from[d] * b_.extent == to[d] * a_.extent && from[d] % a_.extent == 0) return ok_status();
    return fail(gives + at(a_) + " and " + to_string(to) + at(b_));
  }

  const std::string& size_;
  const FollowedGraph &a_, &b_;
};

}  // namespace

Status check_follows(const std::string& size, const FollowedGraph& a, const FollowedGraph& b) {
  return Follower(size, a, b).run();
}

}  // namespace whet
