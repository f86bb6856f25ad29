#include "compiler/packing.h"

#include <cstring>
#include <optional>

#include "compute/affine.h"
#include "compute/scalar.h"

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

/// An element of a placeholder, perhaps one that is rounded on the way.
struct Read {
  std::int64_t placeholder = 0;
  std::vector<Expr> index;
  std::optional<MathFn> rounding;
};
std::optional<Read> read_of(const ComputeDag& dag, const Expr& value) {
  const auto rounded = [&](const Expr& inner, MathFn rounding) {
    std::optional<Read> read = read_of(dag, inner);
    if (!read || read->rounding) return std::optional<Read>();
    read->rounding = rounding;
    return read;
  };
  const auto* cast = std::get_if<Cast>(&value->kind);
  if (cast != nullptr && is_half(value->dtype) && cast->a->dtype == DType::f32)
    return rounded(cast->a, value->dtype == DType::f16 ? MathFn::round_f16 : MathFn::round_bf16);
  const auto* call = std::get_if<Call>(&value->kind);
  if (call != nullptr && call->fn == MathFn::round_tf32) return rounded(call->args[0], call->fn);
  const auto* load = std::get_if<Load>(&value->kind);
  if (load == nullptr || load->mask.defined()) return std::nullopt;
  const Op& from = dag.ops[load->source.index()];
  if (from.is_placeholder()) return Read{load->source.value, load->index, std::nullopt};
  if (from.element().reducer) return std::nullopt;
  return read_of(dag, substitute(from.element().body, [&](VarId v) { return load->index[v.index()]; }));
}

/// An output that copies elements of one placeholder: where each row of the last axes begins, and its stride.
struct Gather {
  std::int64_t placeholder = 0;
  Expr flat;  ///< row-major index of the element, of all axes
  std::optional<MathFn> rounding;
  std::size_t axes = 0;  ///< in front of a row
  std::int64_t row = 1, stride = 0;
};

/// Nothing where the op computes more than rounded elements, or its last axis moves unevenly.
std::optional<Gather> as_gather(const ComputeDag& dag, const Op& op) {
  if (op.is_placeholder() || op.element().reducer || op.shape.empty()) return std::nullopt;
  const std::optional<Read> read = read_of(dag, op.element().body);
  if (!read) return std::nullopt;
  const Op& from = dag.ops[static_cast<std::size_t>(read->placeholder)];
  if (from.dtype != (read->rounding ? DType::f32 : op.dtype)) return std::nullopt;
  Gather gather{read->placeholder, int_const(0), read->rounding};
  const std::vector<std::int64_t> strides = row_major_strides(from.shape);
  for (std::size_t d = 0; d < strides.size(); ++d) gather.flat = gather.flat + read->index[d] * strides[d];
  // By how much an axis moves; nothing where that differs from place to place.
  const Affine flat = to_affine(gather.flat);
  const auto step_of = [&](std::size_t axis) {
    std::optional<std::int64_t> step = 0;
    for (const auto& [atom, coefficient] : flat.terms) {
      const VarId id(static_cast<std::int64_t>(axis));
      const auto* v = std::get_if<Var>(&atom->kind);
      if (v != nullptr && v->id == id) {
        if (step) *step += coefficient;
      } else if (mentions(atom, id)) {
        step.reset();
      }
    }
    return step;
  };
  gather.axes = op.shape.size() - 1;
  const std::optional<std::int64_t> stride = step_of(gather.axes);
  if (!stride) return std::nullopt;
  gather.stride = *stride, gather.row = op.shape.back();
  while (gather.axes > 0 && step_of(gather.axes - 1) == gather.stride * gather.row)
    gather.row *= op.shape[--gather.axes];
  return gather;
}

/// The placeholders' numbers: op ids in order of placeholders.
std::size_t placeholder_number(const ComputeDag& dag, std::int64_t op) {
  std::size_t number = 0;
  for (std::int64_t i = 0; i < op; ++i) number += dag.ops[static_cast<std::size_t>(i)].is_placeholder();
  return number;
}

template <typename From, typename To, typename Convert>
bool copy_rows(const Gather& gather, const Tensor& from, Tensor& to, const Convert& converted) {
  const Shape& shape = to.shape();
  const std::span<const From> source = from.as<From>();
  const std::span<To> target = to.as<To>();
  const std::int64_t row = gather.row;
  std::vector<std::int64_t> axes(shape.size(), 0);
  for (std::int64_t at = 0; at < to.size(); at += row) {
    const std::optional<std::int64_t> begin = value_of(gather.flat, axes);
    const std::int64_t end = begin ? *begin + (row - 1) * gather.stride : -1;
    if (!begin || std::min(*begin, end) < 0 || std::max(*begin, end) >= from.size()) return false;
    for (std::int64_t i = 0; i < row; ++i) {
      target[static_cast<std::size_t>(at + i)] =
          converted(source[static_cast<std::size_t>(*begin + i * gather.stride)]);
    }
    for (std::size_t d = gather.axes; d-- > 0;) {
      if (++axes[d] < shape[d]) break;
      axes[d] = 0;
    }
  }
  return true;
}

template <typename T>
bool move_rows(const Gather& gather, const Tensor& from, Tensor& to) {
  return copy_rows<T, T>(gather, from, to, [](T element) { return element; });
}

float rounded_to_tf32(float x) { return static_cast<float>(apply(MathFn::round_tf32, x)); }

bool copy_rows(const Gather& gather, const Tensor& from, Tensor& to) {
  if (gather.rounding == MathFn::round_f16) return copy_rows<float, std::uint16_t>(gather, from, to, float_to_half);
  if (gather.rounding == MathFn::round_bf16) return copy_rows<float, std::uint16_t>(gather, from, to, float_to_bf16);
  if (gather.rounding) return copy_rows<float, float>(gather, from, to, rounded_to_tf32);
  switch (size_of(to.dtype())) {
    case 1:
      return move_rows<std::uint8_t>(gather, from, to);
    case 2:
      return move_rows<std::uint16_t>(gather, from, to);
    case 4:
      return move_rows<std::uint32_t>(gather, from, to);
    default:
      return move_rows<std::uint64_t>(gather, from, to);
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
