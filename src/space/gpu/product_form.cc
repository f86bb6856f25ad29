#include "space/gpu/product_form.h"

#include <algorithm>

#include "space/anatomy.h"

namespace whet {
namespace {

/// The two loads whose product the op sums up.
std::optional<std::pair<const Load*, const Load*>> factors(const Element& element) {
  const Binary* product = std::get_if<Binary>(&element.body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const Load *a = std::get_if<Load>(&product->a->kind), *b = std::get_if<Load>(&product->b->kind);
  if (!a || !b || a->source == b->source) return std::nullopt;
  return std::pair(a, b);
}

bool uses(const Load& read, std::int64_t axis) {
  return std::any_of(read.index.begin(), read.index.end(), [&](const Expr& i) { return whet::uses(i, VarId(axis)); });
}

enum class Role { batch, row, column };

/// One for each spatial axis; nothing where they are not one block of axes a role, rows before columns.
std::optional<std::vector<Role>> roles_of(const Element& element, const Load& left, const Load& right) {
  std::vector<Role> roles;
  for (std::int64_t k = 0; k < std::ssize(element.axes); ++k) {
    const bool of_left = uses(left, k), of_right = uses(right, k);
    roles.push_back(of_left && of_right ? Role::batch : of_right ? Role::column : Role::row);
  }
  if (!std::is_sorted(roles.begin(), roles.end()) || std::count(roles.begin(), roles.end(), Role::row) == 0)
    return std::nullopt;
  return roles;
}

/// Merges neighbouring axes of one role, and all reduce axes.
void merge_axes(Scheduler& s, OpId op, std::vector<Role> roles, std::size_t reduce_axes) {
  for (std::size_t k = 0; k + 1 < roles.size();) {
    if (roles[k] != roles[k + 1]) {
      ++k;
      continue;
    }
    s.merge(op, static_cast<std::int64_t>(k));
    roles.erase(roles.begin() + static_cast<std::ptrdiff_t>(k));
  }
  for (std::size_t k = 1; k < reduce_axes; ++k) s.merge(op, std::ssize(roles));
}

}  // namespace

std::optional<ProductForm> product_form(const ComputeDag& dag) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy || dag.op(anatomy->anchor).dtype != DType::f32) return std::nullopt;
  const Element& element = dag.op(anatomy->anchor).element();
  auto operands = factors(element);
  if (element.reducer != Reducer::sum || !operands || element.axes.size() < 2) return std::nullopt;
  const auto last = static_cast<std::int64_t>(element.axes.size()) - 1;
  if (uses(*operands->first, last)) std::swap(operands->first, operands->second);
  const auto& [left, right] = *operands;
  if (uses(*left, last) || !uses(*right, last)) return std::nullopt;
  const std::optional<std::vector<Role>> roles = roles_of(element, *left, *right);
  // Windows of three dimensions divide a row's number so often that lowering no longer proves their indices.
  const auto wide = std::count_if(element.reduce_axes.begin(), element.reduce_axes.end(),
                                  [](const Axis& axis) { return axis.extent > 1; });
  if (!roles || wide > 3) return std::nullopt;

  const OpId anchor = anatomy->anchor;
  ProductForm form{.left = anchor, .right = OpId(anchor.value + 1), .sum = OpId(anchor.value + 2)};
  Scheduler s(dag);
  s.unfold(OpId(left->source.value), form.left, UnfoldOrder::spatial_first);
  s.unfold(OpId(right->source.value), form.right, UnfoldOrder::turned);
  if (!s.finish().ok()) return std::nullopt;
  merge_axes(s, form.sum, *roles, element.reduce_axes.size());
  for (OpId op : anatomy->before) s.inline_op(op);
  for (OpId op : anatomy->after) s.inline_op(OpId(op.value + 2));
  if (!s.finish().ok()) return std::nullopt;

  const Op& sum = s.tree().dag.op(form.sum);
  form.batched = roles->front() == Role::batch;
  form.batch = form.batched ? sum.shape[0] : 1;
  form.rows = sum.shape[sum.shape.size() - 2], form.columns = sum.shape.back();
  form.depth = sum.element().reduce_axes.front().extent;
  if (anatomy->output) form.output = OpId(anatomy->output->value + 2);
  if (form.output && s.tree().dag.op(*form.output).shape != sum.shape) return std::nullopt;
  form.start = std::make_shared<const Scheduler>(std::move(s));
  return form;
}

}  // namespace whet
