#include "compute/size.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "compute/scalar.h"

namespace whet {
namespace {

/// Operations of i64 that a size may have.
bool is_size_arithmetic(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::min ||
         op == BinaryOp::max;
}

std::string range_label(const SizeRange& size) { return "size '" + size.name + "'"; }

}  // namespace

std::int64_t count_of(const SizeRange& size) { return (size.max - size.min) / size.step + 1; }

SizeRange range_of(std::string name, const std::vector<std::int64_t>& values) {
  WHET_CHECK(!values.empty(), "a size has a value");
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  SizeRange range{std::move(name), *low, *high, 0};
  for (const std::int64_t value : values) range.step = std::gcd(range.step, value - range.min);
  if (range.step == 0) range.step = 1;
  return range;
}

bool contains(const SizeBox& box, const SizeValues& values) {
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k] < box.low[k] || values[k] > box.high[k]) return false;
  return true;
}

std::vector<SizeRange> ranges_in(const std::vector<SizeRange>& sizes, const SizeBox& box) {
  std::vector<SizeRange> ranges = sizes;
  for (std::size_t k = 0; k < ranges.size(); ++k) ranges[k].min = box.low[k], ranges[k].max = box.high[k];
  return ranges;
}

Expr size_expr(std::size_t k, std::string name) { return var(size_var(k), std::move(name)); }

bool has_size(const Expr& e) {
  for (std::size_t k = 0; k < kMostSizes; ++k)
    if (uses(e, size_var(k))) return true;
  return false;
}

std::vector<std::size_t> sizes_of(const Expr& e) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < kMostSizes; ++k)
    if (uses(e, size_var(k))) found.push_back(k);
  return found;
}

bool is_of_sizes(const Expr& e) {
  if (e->vars == 0) return false;
  bool only = true;
  for_each(e, [&](const Expr& x) {
    if (const auto* v = std::get_if<Var>(&x->kind)) only = only && size_number(v->id) < kMostSizes;
    if (std::holds_alternative<Load>(x->kind)) only = false;
  });
  return only;
}

std::int64_t value_at(const Expr& e, const SizeValues& values) {
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return c->value;
  if (const auto* v = std::get_if<Var>(&e->kind)) {
    WHET_CHECK(size_number(v->id) < values.size(), "a size that has a value");
    return values[size_number(v->id)];
  }
  if (const auto* c = std::get_if<Cast>(&e->kind); c && !is_float(c->a->dtype))
    return wrap_to(e->dtype, value_at(c->a, values));
  const auto* n = std::get_if<Binary>(&e->kind);
  WHET_CHECK(n, "an expression of sizes");
  const auto value = apply(n->op, value_at(n->a, values), value_at(n->b, values), n->a->dtype);
  WHET_CHECK(value, "nothing is divided by 0");
  return *value;
}

std::optional<std::vector<std::int64_t>> all_values(const Expr& e, const std::vector<SizeRange>& sizes,
                                                    std::int64_t most) {
  const std::vector<std::size_t> used = sizes_of(e);
  std::int64_t combinations = 1;
  for (const std::size_t k : used) {
    if (count_of(sizes[k]) > most / combinations) return {};
    combinations *= count_of(sizes[k]);
  }
  SizeValues at;
  for (const SizeRange& size : sizes) at.push_back(size.min);
  std::set<std::int64_t> values;
  for (std::int64_t tried = 0; tried < combinations; ++tried) {
    values.insert(value_at(e, at));
    for (const std::size_t k : used) {  // the next combination
      at[k] += sizes[k].step;
      if (at[k] <= sizes[k].max) break;
      at[k] = sizes[k].min;
    }
  }
  return std::vector<std::int64_t>(values.begin(), values.end());
}

double float_at(const Expr& e, const SizeValues& values) {
  if (const auto* c = std::get_if<FloatConst>(&e->kind)) return c->value;
  if (const auto* c = std::get_if<Cast>(&e->kind)) {
    const double value = is_float(c->a->dtype) ? float_at(c->a, values) : static_cast<double>(value_at(c->a, values));
    return round_to(e->dtype, value);
  }
  const auto* n = std::get_if<Binary>(&e->kind);
  WHET_CHECK(n, "an expression of sizes");
  return round_to(e->dtype, apply_float(n->op, float_at(n->a, values), float_at(n->b, values)));
}

Expr expr_at(const Expr& e, const SizeValues& values) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    if (x->vars == 0) return x;
    if (!is_of_sizes(x) || x->dtype == DType::boolean) return {};
    return is_float(x->dtype) ? float_const(float_at(x, values), x->dtype) : int_const(value_at(x, values), x->dtype);
  });
}

Status verify(const std::vector<SizeRange>& sizes) {
  if (sizes.size() > kMostSizes)
    return Error{std::to_string(sizes.size()) + " sizes are given; " + std::to_string(kMostSizes) + " is the most"};
  std::set<std::string> names;
  for (const SizeRange& size : sizes) {
    if (size.name.empty()) return Error{"a size has no name"};
    if (!names.insert(size.name).second) return Error{"two sizes are named '" + size.name + "'"};
    const bool ordered = size.min >= 1 && size.min <= size.max && size.max <= kLargestSize && size.step >= 1;
    if (!ordered || (size.max - size.min) % size.step != 0)
      return Error{range_label(size) + " is " + to_text(size) +
                   "; expected 1 <= least <= largest < 2^31, and whole steps of 1 or more between them"};
  }
  return ok_status();
}

Status check_values(const std::vector<SizeRange>& sizes, const SizeValues& values) {
  if (values.size() != sizes.size())
    return Error{std::to_string(values.size()) + " values are given for " + std::to_string(sizes.size()) + " sizes"};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const SizeRange& size = sizes[k];
    if (values[k] < size.min || values[k] > size.max || (values[k] - size.min) % size.step != 0)
      return Error{range_label(size) + " is at " + std::to_string(values[k]) + "; it is " + to_text(size)};
  }
  return ok_status();
}

Status check_size_expr(const Expr& e, std::size_t sizes) {
  const auto fail = [](const std::string& what) { return Status(Error{"a function with " + what}); };
  if (e->lanes != 1) return fail("a vector");
  return std::visit(
      Match{
          [&](const IntConst&) -> Status { return e->dtype == DType::boolean ? fail("a boolean") : ok_status(); },
          [&](const FloatConst&) -> Status { return ok_status(); },
          [&](const Var& v) -> Status {
            return size_number(v.id) < sizes ? ok_status() : fail("'" + v.name + "', which is no size");
          },
          [&](const Cast& n) -> Status {
            if (is_float(n.a->dtype) && !is_float(e->dtype)) return fail("a cast of a float to an integer");
            return check_size_expr(n.a, sizes);
          },
          [&](const Binary& n) -> Status {
            const bool divides = n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
            const bool divides_floats = n.op == BinaryOp::div && is_float(e->dtype);
            if (!is_size_arithmetic(n.op) && !divides && !divides_floats)
              return fail("an operation other than +, -, *, min, max, floordiv, floormod and / of floats");
            if (divides && (!as_int(n.b) || *as_int(n.b) < 1)) return fail("a division by no positive constant");
            WHET_RETURN_IF_ERROR(check_size_expr(n.a, sizes));
            return check_size_expr(n.b, sizes);
          },
          [&](const auto&) -> Status { return fail("more than constants, sizes and arithmetic"); },
      },
      e->kind);
}

std::string to_text(const SizeRange& size) {
  if (size.min == size.max) return std::to_string(size.min);
  const std::string range = std::to_string(size.min) + ".." + std::to_string(size.max);
  return size.step == 1 ? range : range + ":" + std::to_string(size.step);
}

}  // namespace whet
