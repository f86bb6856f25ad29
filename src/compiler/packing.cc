#include "compiler/packing.h"

#include <cstring>
#include <optional>

#include "compute/affine.h"

namespace whet {
namespace {

/// The value of an integer expression of axis variables; nothing for kinds that index arithmetic does not use.
std::optional<std::int64_t> value_of(const Expr& e, const std::vector<std::int64_t>& axes) {
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return c->value;
  if (const auto* v = std::get_if<Var>(&e->kind)) return axes[v->id.index()];
  const auto* b = std::get_if<Binary>(&e->kind);
  if (b == nullptr) return std::nullopt;
  const std::optional<std::int64_t> x = value_of(b->a, axes), y = value_of(b->b, axes);
  if (!x || !y) return std::nullopt;
  switch (b->op) {
    case BinaryOp::add:
      return *x + *y;
    case BinaryOp::sub:
      return *x - *y;
    case BinaryOp::mul:
      return *x * *y;
    case BinaryOp::min:
      return std::min(*x, *y);
    case BinaryOp::max:
      return std::max(*x, *y);
    case BinaryOp::floordiv:
      return *y == 0 ? std::nullopt : std::optional(floor_div(*x, *y));
    case BinaryOp::floormod:
      return *y == 0 ? std::nullopt : std::optional(floor_mod(*x, *y));
    default:
      return std::nullopt;
  }
}

bool mentions(const Expr& e, VarId var) {
  bool found = false;
  for_each(e, [&](const Expr& part) {
    const auto* v = std::get_if<Var>(&part->kind);
    found = found || (v != nullptr && v->id == var);
  });
  return found;
}

/// An output that copies elements of one placeholder: where each row of the last axis begins, and its stride.
struct Gather {
  std::int64_t placeholder = 0;
  Expr flat;                ///< row-major index of the element, of all axes
  std::int64_t stride = 0;  ///< of the last axis, in elements
};

/// Nothing where the op computes anything, or its last axis moves unevenly.
std::optional<Gather> as_gather(const ComputeDag& dag, const Op& op) {
  if (op.is_placeholder() || op.element().reducer || op.shape.empty()) return std::nullopt;
  const Element& element = op.element();
  const auto* load = std::get_if<Load>(&element.body->kind);
  if (load == nullptr || load->mask.defined()) return std::nullopt;
  const Op& from = dag.ops[load->source.index()];
  if (!from.is_placeholder() || from.dtype != op.dtype) return std::nullopt;
  Gather gather{load->source.value, int_const(0), 0};
  const std::vector<std::int64_t> strides = row_major_strides(from.shape);
  for (std::size_t d = 0; d < strides.size(); ++d) gather.flat = gather.flat + load->index[d] * strides[d];
  const VarId last(static_cast<std::int64_t>(op.shape.size()) - 1);
  for (const auto& [atom, coefficient] : to_affine(gather.flat).terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    if (v != nullptr && v->id == last) {
      gather.stride = coefficient;
    } else if (mentions(atom, last)) {
      return std::nullopt;
    }
  }
  return gather;
}

/// The placeholders' numbers: op ids in order of placeholders.
std::size_t placeholder_number(const ComputeDag& dag, std::int64_t op) {
  std::size_t number = 0;
  for (std::int64_t i = 0; i < op; ++i) number += dag.ops[static_cast<std::size_t>(i)].is_placeholder();
  return number;
}

template <typename T>
bool copy_rows(const Gather& gather, const Tensor& from, Tensor& to) {
  const Shape& shape = to.shape();
  const std::span<const T> source = from.as<T>();
  const std::span<T> target = to.as<T>();
  const std::int64_t row = shape.back();
  std::vector<std::int64_t> axes(shape.size(), 0);
  for (std::int64_t at = 0; at < to.size(); at += row) {
    const std::optional<std::int64_t> begin = value_of(gather.flat, axes);
    const std::int64_t end = begin ? *begin + (row - 1) * gather.stride : -1;
    if (!begin || std::min(*begin, end) < 0 || std::max(*begin, end) >= from.size()) return false;
    for (std::int64_t i = 0; i < row; ++i) {
      target[static_cast<std::size_t>(at + i)] = source[static_cast<std::size_t>(*begin + i * gather.stride)];
    }
    for (std::size_t d = shape.size() - 1; d-- > 0;) {
      if (++axes[d] < shape[d]) break;
      axes[d] = 0;
    }
  }
  return true;
}

bool copy_rows(const Gather& gather, const Tensor& from, Tensor& to) {
  switch (size_of(to.dtype())) {
    case 1:
      return copy_rows<std::uint8_t>(gather, from, to);
    case 2:
      return copy_rows<std::uint16_t>(gather, from, to);
    case 4:
      return copy_rows<std::uint32_t>(gather, from, to);
    default:
      return copy_rows<std::uint64_t>(gather, from, to);
  }
}

/// All outputs by gathering, or nothing.
std::optional<std::vector<Tensor>> gather_all(const ComputeDag& dag, const std::vector<Tensor>& constants) {
  std::vector<Tensor> results;
  for (OpId output : dag.outputs) {
    const Op& op = dag.op(output);
    const std::optional<Gather> gather = as_gather(dag, op);
    if (!gather) return std::nullopt;
    const Tensor& from = constants[placeholder_number(dag, gather->placeholder)];
    Tensor to(op.dtype, op.shape);
    if (to.size() > 0 && !copy_rows(*gather, from, to)) return std::nullopt;
    results.push_back(std::move(to));
  }
  return results;
}

}  // namespace

Result<std::vector<Tensor>> run_packing(const ComputeDag& packing, const std::vector<Tensor>& constants) {
  if (std::optional<std::vector<Tensor>> gathered = gather_all(packing, constants)) return std::move(*gathered);
  return evaluate(packing, constants);
}

std::optional<std::vector<Tensor>> PackedConstants::find(std::size_t group, const ComputeDag& packing) const {
  const Key key(group, to_text(packing));
  const std::lock_guard<std::mutex> guard(lock_);
  const auto found = packed_.find(key);
  return found == packed_.end() ? std::nullopt : std::optional(found->second);
}

void PackedConstants::keep(std::size_t group, const ComputeDag& packing, const std::vector<Tensor>& tensors) {
  Key key(group, to_text(packing));
  const std::lock_guard<std::mutex> guard(lock_);
  packed_.emplace(std::move(key), tensors);
}

std::size_t PackedConstants::size() const {
  const std::lock_guard<std::mutex> guard(lock_);
  return packed_.size();
}

}  // namespace whet
