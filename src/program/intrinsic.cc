#include "program/intrinsic.h"

#include <array>
#include <map>
#include <utility>

namespace whet {
namespace {

struct Definition {
  Intrinsic intrinsic;
  std::string_view name;
  const char* text;
};

constexpr std::array kDefinitions = {
    Definition{Intrinsic::transpose8, "transpose8",
               "x = PLACEHOLDER [8, 8]\n"
               "y(i, j) = x[j, i] for i in 8, j in 8\n"
               "return y\n"},
    Definition{Intrinsic::transpose16, "transpose16",
               "x = PLACEHOLDER [16, 16]\n"
               "y(i, j) = x[j, i] for i in 16, j in 16\n"
               "return y\n"},
    Definition{Intrinsic::dot4, "dot4",
               "x = PLACEHOLDER [4] u8\n"
               "w = PLACEHOLDER [16, 4] i8\n"
               "y(j): i32 += (i32(x[k])*i32(w[j, k])) for j in 16, k in 4\n"
               "return y\n"},
    Definition{Intrinsic::dot2, "dot2",
               "x = PLACEHOLDER [2] bf16\n"
               "w = PLACEHOLDER [16, 2] bf16\n"
               "y(j) += (f32(x[k])*f32(w[j, k])) for j in 16, k in 2\n"
               "return y\n"},
    Definition{Intrinsic::dot2_i16, "dot2_i16",
               "x = PLACEHOLDER [2] i16\n"
               "w = PLACEHOLDER [16, 2] i16\n"
               "y(j): i32 += (i32(x[k])*i32(w[j, k])) for j in 16, k in 2\n"
               "return y\n"},
    Definition{Intrinsic::dot4x8, "dot4x8",
               "x = PLACEHOLDER [4] u8\n"
               "w = PLACEHOLDER [8, 4] i8\n"
               "y(j): i32 += (i32(x[k])*i32(w[j, k])) for j in 8, k in 4\n"
               "return y\n"},
    Definition{Intrinsic::dot2x8, "dot2x8",
               "x = PLACEHOLDER [2] bf16\n"
               "w = PLACEHOLDER [8, 2] bf16\n"
               "y(j) += (f32(x[k])*f32(w[j, k])) for j in 8, k in 2\n"
               "return y\n"},
    Definition{Intrinsic::dot2_i16x8, "dot2_i16x8",
               "x = PLACEHOLDER [2] i16\n"
               "w = PLACEHOLDER [8, 2] i16\n"
               "y(j): i32 += (i32(x[k])*i32(w[j, k])) for j in 8, k in 2\n"
               "return y\n"},
    Definition{Intrinsic::tile_bf16, "tile_bf16",
               "a = PLACEHOLDER [16, 16, 2] bf16\n"
               "b = PLACEHOLDER [16, 16, 2] bf16\n"
               "y(i, j) += (f32(a[i, k, w])*f32(b[k, j, w])) for i in 16, j in 16, k in 16, w in 2\n"
               "return y\n"},
    Definition{Intrinsic::tile_u8, "tile_u8",
               "a = PLACEHOLDER [16, 16, 4] u8\n"
               "b = PLACEHOLDER [16, 16, 4] i8\n"
               "y(i, j): i32 += (i32(a[i, k, w])*i32(b[k, j, w])) for i in 16, j in 16, k in 16, w in 4\n"
               "return y\n"},
    Definition{Intrinsic::dp4a_s8, "dp4a_s8",
               "a = PLACEHOLDER [4] i8\n"
               "b = PLACEHOLDER [4] i8\n"
               "y(): i32 += (i32(a[k])*i32(b[k])) for k in 4\n"
               "return y\n"},
    Definition{Intrinsic::dp4a_u8, "dp4a_u8",
               "a = PLACEHOLDER [4] u8\n"
               "b = PLACEHOLDER [4] i8\n"
               "y(): i32 += (i32(a[k])*i32(b[k])) for k in 4\n"
               "return y\n"},
    Definition{Intrinsic::mma_tf32, "mma_tf32",
               "a = PLACEHOLDER [16, 8]\n"
               "b = PLACEHOLDER [8, 8]\n"
               "y(i, j) += (round_tf32(a[i, k])*round_tf32(b[k, j])) for i in 16, j in 8, k in 8\n"
               "return y\n"},
    Definition{Intrinsic::mma_f16, "mma_f16",
               "a = PLACEHOLDER [16, 16]\n"
               "b = PLACEHOLDER [16, 8]\n"
               "y(i, j) += (round_f16(a[i, k])*round_f16(b[k, j])) for i in 16, j in 8, k in 16\n"
               "return y\n"},
    Definition{Intrinsic::mma_bf16, "mma_bf16",
               "a = PLACEHOLDER [16, 16]\n"
               "b = PLACEHOLDER [16, 8]\n"
               "y(i, j) += (round_bf16(a[i, k])*round_bf16(b[k, j])) for i in 16, j in 8, k in 16\n"
               "return y\n"},
    Definition{Intrinsic::mma_s8, "mma_s8",
               "a = PLACEHOLDER [16, 32] i8\n"
               "b = PLACEHOLDER [8, 32] i8\n"
               "y(i, j): i32 += (i32(a[i, k])*i32(b[j, k])) for i in 16, j in 8, k in 32\n"
               "return y\n"},
    Definition{Intrinsic::mma_u8, "mma_u8",
               "a = PLACEHOLDER [16, 32] u8\n"
               "b = PLACEHOLDER [8, 32] i8\n"
               "y(i, j): i32 += (i32(a[i, k])*i32(b[j, k])) for i in 16, j in 8, k in 32\n"
               "return y\n"},
    Definition{Intrinsic::mma_half, "mma_half",
               "a = PLACEHOLDER [16, 16] f16\n"
               "b = PLACEHOLDER [16, 8] f16\n"
               "y(i, j) += (f32(a[i, k])*f32(b[k, j])) for i in 16, j in 8, k in 16\n"
               "return y\n"},
    Definition{Intrinsic::mma_half_bf16, "mma_half_bf16",
               "a = PLACEHOLDER [16, 16] bf16\n"
               "b = PLACEHOLDER [16, 8] bf16\n"
               "y(i, j) += (f32(a[i, k])*f32(b[k, j])) for i in 16, j in 8, k in 16\n"
               "return y\n"},
    Definition{Intrinsic::transpose16_pairs, "transpose16_pairs",
               "x = PLACEHOLDER [16, 16, 2] bf16\n"
               "y(i, j, k): bf16 = x[j, i, k] for i in 16, j in 16, k in 2\n"
               "return y\n"},
    Definition{Intrinsic::interleave16, "interleave16",
               "x = PLACEHOLDER [2, 16] bf16\n"
               "y(j, k): bf16 = x[k, j] for j in 16, k in 2\n"
               "return y\n"},
};

class Matcher {
 public:
  explicit Matcher(const Expr& defined, std::size_t placeholders)
      : loads_(placeholders), moves_(std::holds_alternative<Load>(defined->kind)) {}

  bool match(const Expr& defined, const Expr& found) {
    if (const auto* call = std::get_if<Call>(&defined->kind); call && rounds_operands(call->fn)) {
      const auto* other = std::get_if<Call>(&found->kind);
      if (call->fn == MathFn::round_f16 && is_half(found)) return take(call->args[0], std::get<Cast>(found->kind).a);
      return match(call->args[0], other && other->fn == call->fn ? other->args[0] : found);
    }
    if (defined->dtype != found->dtype || found->lanes != 1) return false;
    if (std::holds_alternative<Load>(defined->kind)) return take(defined, moves_ ? unwidened(found) : found);
    if (const auto* cast = std::get_if<Cast>(&defined->kind)) {
      const auto* other = std::get_if<Cast>(&found->kind);
      return other && match(cast->a, other->a);
    }
    const auto* binary = std::get_if<Binary>(&defined->kind);
    const auto* other = std::get_if<Binary>(&found->kind);
    if (!binary || !other || binary->op != other->op) return false;
    const std::vector<Expr> before = loads_;
    if (match(binary->a, other->a) && match(binary->b, other->b)) return true;
    loads_ = before;
    const bool commutes = binary->op == BinaryOp::add || binary->op == BinaryOp::mul;
    return commutes && match(binary->a, other->b) && match(binary->b, other->a);
  }

  std::vector<Expr> take_loads() { return std::move(loads_); }

 private:
  /// f32(x), of an x of f16
  static bool is_half(const Expr& e) {
    const auto* cast = std::get_if<Cast>(&e->kind);
    return cast && e->dtype == DType::f32 && cast->a->dtype == DType::f16;
  }

  /// The x of 16 bits in f32(x); else the expression.
  static Expr unwidened(const Expr& e) {
    const auto* cast = std::get_if<Cast>(&e->kind);
    return cast && e->dtype == DType::f32 && whet::is_half(cast->a->dtype) ? cast->a : e;
  }

  bool take(const Expr& defined, const Expr& found) {
    const auto* load = std::get_if<Load>(&found->kind);
    if (!load || load->mask.defined()) return false;
    Expr& known = loads_[std::get<Load>(defined->kind).source.index()];
    if (known.defined()) return same(known, found);
    known = found;
    return true;
  }

  std::vector<Expr> loads_;
  const bool moves_;  ///< elements are moved, and may be widened on the way
};

}  // namespace

std::string_view name_of(Intrinsic intrinsic) {
  for (const Definition& d : kDefinitions)
    if (d.intrinsic == intrinsic) return d.name;
  return "none";
}

std::optional<Intrinsic> parse_intrinsic(std::string_view name) {
  for (const Definition& d : kDefinitions)
    if (d.name == name) return d.intrinsic;
  return std::nullopt;
}

std::vector<Intrinsic> intrinsics() {
  std::vector<Intrinsic> all;
  for (const Definition& d : kDefinitions) all.push_back(d.intrinsic);
  return all;
}

std::vector<AxisId> loop_order(Intrinsic intrinsic) {
  const Element& element = op_of(intrinsic).element();
  std::vector<AxisId> order;
  for (std::size_t k = 0; k < element.axes.size() + element.reduce_axes.size(); ++k)
    order.emplace_back(static_cast<std::int64_t>(k));
  if (is_tile_product(intrinsic)) std::swap(order[1], order[2]);
  return order;
}

bool takes_extent(Intrinsic intrinsic, AxisId axis, std::int64_t extent) {
  const Element& element = op_of(intrinsic).element();
  const bool is_word = axis.index() + 1 == element.axes.size() + element.reduce_axes.size();
  const std::int64_t most = axis_of(element, axis).extent;
  return is_tile_product(intrinsic) && !is_word ? extent >= 1 && extent <= most : extent == most;
}

std::optional<MathFn> rounding_of(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::mma_tf32:
      return MathFn::round_tf32;
    case Intrinsic::mma_f16:
      return MathFn::round_f16;
    case Intrinsic::mma_bf16:
      return MathFn::round_bf16;
    default:
      return std::nullopt;
  }
}

const ComputeDag& definition_of(Intrinsic intrinsic) {
  static const std::map<Intrinsic, ComputeDag> parsed = [] {
    std::map<Intrinsic, ComputeDag> dags;
    for (const Definition& d : kDefinitions) dags.emplace(d.intrinsic, parse_dag(d.text).value());
    return dags;
  }();
  return parsed.at(intrinsic);
}

const Op& op_of(Intrinsic intrinsic) { return definition_of(intrinsic).ops.back(); }

std::vector<Expr> matching_loads(const Expr& defined, const Expr& found, std::size_t placeholders) {
  Matcher matcher(defined, placeholders);
  return matcher.match(defined, found) ? matcher.take_loads() : std::vector<Expr>();
}

}  // namespace whet
