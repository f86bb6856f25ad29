#include "compute/body.h"

#include <algorithm>

#include "compute/affine.h"
#include "compute/scalar.h"

namespace whet {
namespace {

template <typename F>
void map(std::vector<ElementValue>& out, int count, ValueColumn a, ValueColumn b, F f) {
  for (int k = 0; k < count; ++k) out[static_cast<std::size_t>(k)] = f(a[k], b[k]);
}

template <typename F>
void map_floats(std::vector<ElementValue>& out, int count, ValueColumn a, ValueColumn b, F f) {
  map(out, count, a, b, [&](ElementValue x, ElementValue y) { return ElementValue{.f = f(x.f, y.f)}; });
}

template <typename T, typename F>
void gather_as(std::vector<ElementValue>& out, const void* data, std::int64_t first, std::int64_t stride, int count,
               F convert) {
  const T* from = static_cast<const T*>(data) + first;
  for (int k = 0; k < count; ++k) out[static_cast<std::size_t>(k)] = convert(from[k * stride]);
}

/// Elements first, first + stride, ... of a tensor.
void gather(std::vector<ElementValue>& out, const Tensor& t, std::int64_t first, std::int64_t stride, int count) {
  auto real = [](auto v) { return ElementValue{.f = static_cast<double>(v)}; };
  auto integer = [](auto v) { return ElementValue{.i = static_cast<std::int64_t>(v)}; };
  switch (t.dtype()) {
    case DType::f32:
      return gather_as<float>(out, t.data(), first, stride, count, real);
    case DType::f64:
      return gather_as<double>(out, t.data(), first, stride, count, real);
    case DType::f16:
      return gather_as<std::uint16_t>(out, t.data(), first, stride, count,
                                      [](std::uint16_t v) { return ElementValue{.f = half_to_float(v)}; });
    case DType::bf16:
      return gather_as<std::uint16_t>(out, t.data(), first, stride, count,
                                      [](std::uint16_t v) { return ElementValue{.f = bf16_to_float(v)}; });
    case DType::i8:
      return gather_as<std::int8_t>(out, t.data(), first, stride, count, integer);
    case DType::u8:
    case DType::boolean:
      return gather_as<std::uint8_t>(out, t.data(), first, stride, count, integer);
    case DType::i16:
      return gather_as<std::int16_t>(out, t.data(), first, stride, count, integer);
    case DType::i32:
      return gather_as<std::int32_t>(out, t.data(), first, stride, count, integer);
    case DType::i64:
      return gather_as<std::int64_t>(out, t.data(), first, stride, count, integer);
  }
}

}  // namespace

CompiledBody::CompiledBody(const ComputeDag& dag, const Element& element, AxisId lane,
                           const std::vector<Tensor>& values)
    : dag_(dag), element_(element), lane_(lane), values_(values) {
  root_ = compile(element.body);
  const auto* n = std::get_if<Binary>(&element.body->kind);
  is_product_ = n && n->op == BinaryOp::mul && is_float(element.body->dtype);
  auto plain_read = [&](int child) {
    const Node& read = nodes_[static_cast<std::size_t>(child)];
    return read.affine && read.always_inside && read.expr->dtype == DType::f32;
  };
  const std::vector<int>& factors = nodes_[static_cast<std::size_t>(root_)].children;
  reads_both_ = is_product_ && plain_read(factors[0]) && plain_read(factors[1]);
}

int CompiledBody::compile(const Expr& e) {
  Node n;
  n.expr = e.get();
  auto child = [&](const Expr& c) { n.children.push_back(compile(c)); };
  std::visit(Match{
                 [](const IntConst&) {},
                 [](const FloatConst&) {},
                 [&](const Var& v) { n.uniform = v.id.value != lane_.value; },
                 [&](const Unary& x) { child(x.a); },
                 [&](const Binary& x) { child(x.a), child(x.b); },
                 [&](const Select& x) { child(x.condition), child(x.if_true), child(x.if_false); },
                 [&](const Cast& x) { child(x.a); },
                 [&](const Call& x) { std::for_each(x.args.begin(), x.args.end(), child); },
                 [&](const Load& x) {
                   std::for_each(x.index.begin(), x.index.end(), child);
                   compile_load(n, x);
                 },
                 [](const Ramp&) { WHET_CHECK(false, "a DAG has no vectors"); },
                 [](const Broadcast&) { WHET_CHECK(false, "a DAG has no vectors"); },
             },
             e->kind);
  for (int c : n.children) n.uniform = n.uniform && nodes_[static_cast<std::size_t>(c)].uniform;
  n.slots.resize(n.uniform ? 1 : kBatch);
  if (const auto* c = std::get_if<IntConst>(&e->kind)) n.slots[0].i = c->value;
  if (const auto* c = std::get_if<FloatConst>(&e->kind)) n.slots[0].f = c->value;
  if (std::holds_alternative<Select>(e->kind) && !n.uniform) {
    for (auto& mask : n.masks) mask.resize(kBatch);
  }
  nodes_.push_back(std::move(n));
  return static_cast<int>(nodes_.size()) - 1;
}

bool CompiledBody::read_linear(const Expr& e, Linear& out) const {
  const Affine a = to_affine(e);
  out.offset = a.constant;
  for (const auto& [atom, coefficient] : a.terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    if (!v) return false;
    out.terms.emplace_back(v->id.index(), coefficient);
    if (v->id.value == lane_.value) out.lane = coefficient;
  }
  return true;
}

void CompiledBody::compile_load(Node& n, const Load& l) {
  const Shape& shape = dag_.op(OpId(l.source.value)).shape;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const RangeOf range = [&](VarId v) { return Interval{0, axis_of(element_, AxisId(v.value)).extent - 1}; };
  n.always_inside = true;
  Expr flat = int_const(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Linear linear;
    if (!read_linear(l.index[d], linear)) return;
    const Interval all = bounds(l.index[d], range);
    n.always_inside = n.always_inside && all.min && all.max && *all.min >= 0 && *all.max < shape[d];
    n.index.push_back(std::move(linear));
    flat = flat + l.index[d] * strides[d];
  }
  n.affine = read_linear(flat, n.flat);
}

std::int64_t CompiledBody::at(const Linear& l) const {
  std::int64_t value = l.offset;
  for (const auto& [axis, coefficient] : l.terms) value += coefficient * (*axes_)[axis];
  return value;
}

ValueColumn CompiledBody::run(const std::vector<std::int64_t>& axes, int count) {
  axes_ = &axes;
  count_ = count;
  return eval(root_, nullptr);
}

std::pair<ValueColumn, ValueColumn> CompiledBody::run_factors(const std::vector<std::int64_t>& axes, int count) {
  axes_ = &axes;
  count_ = count;
  const Node& n = nodes_[static_cast<std::size_t>(root_)];
  const ValueColumn a = eval(n.children[0], nullptr);
  return {a, eval(n.children[1], nullptr)};
}

bool CompiledBody::add_products(const std::vector<std::int64_t>& axes, int count, ElementValue* sums) {
  if (!reads_both_) return false;
  axes_ = &axes;
  const float* from[2];
  std::int64_t step[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Node& read = nodes_[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(root_)].children[i])];
    const auto source = static_cast<std::size_t>(std::get<Load>(read.expr->kind).source.value);
    from[i] = static_cast<const float*>(values_[source].data()) + at(read.flat);
    step[i] = read.flat.lane;
  }
  const float *a = from[0], *b = from[1];
  if (step[0] == 0 && step[1] == 1) {
    const double factor = *a;
    for (int k = 0; k < count; ++k) sums[k].f += factor * static_cast<double>(b[k]);
  } else {
    for (int k = 0; k < count; ++k) {
      sums[k].f += static_cast<double>(a[k * step[0]]) * static_cast<double>(b[k * step[1]]);
    }
  }
  return true;
}

ValueColumn CompiledBody::eval(int node, Mask mask) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  if (n.uniform) mask = nullptr;
  return std::visit(Match{
                        [&](const IntConst&) { return column(n); },
                        [&](const FloatConst&) { return column(n); },
                        [&](const Var& v) {
                          const std::int64_t first = (*axes_)[v.id.index()];
                          for (int k = 0; k < width(n); ++k) n.slots[static_cast<std::size_t>(k)].i = first + k;
                          return column(n);
                        },
                        [&](const Unary& x) { return unary_column(n, x, mask); },
                        [&](const Binary& x) { return binary_column(n, x, mask); },
                        [&](const Select&) { return select_column(n, mask); },
                        [&](const Cast&) { return cast_column(n, mask); },
                        [&](const Call& x) { return call_column(n, x, mask); },
                        [&](const Load& x) { return load_column(n, x, mask); },
                        [&](const Ramp&) { return column(n); },
                        [&](const Broadcast&) { return column(n); },
                    },
                    n.expr->kind);
}

ValueColumn CompiledBody::unary_column(Node& n, const Unary& x, Mask mask) {
  const ValueColumn a = eval(n.children[0], mask);
  const DType dtype = n.expr->dtype;
  if (x.op == UnaryOp::logical_not) {
    map(n.slots, width(n), a, a, [](ElementValue v, ElementValue) { return ElementValue{.i = v.i == 0}; });
  } else if (is_float(dtype)) {
    map(n.slots, width(n), a, a, [](ElementValue v, ElementValue) { return ElementValue{.f = -v.f}; });
  } else {
    map(n.slots, width(n), a, a,
        [&](ElementValue v, ElementValue) { return ElementValue{.i = *apply(BinaryOp::sub, 0, v.i, dtype)}; });
  }
  return column(n);
}

ValueColumn CompiledBody::binary_column(Node& n, const Binary& x, Mask mask) {
  const ValueColumn a = eval(n.children[0], mask);
  const ValueColumn b = eval(n.children[1], mask);
  const int count = width(n);
  if (!is_float(x.a->dtype)) {
    bool undefined = false;
    map(n.slots, count, a, b, [&](ElementValue p, ElementValue q) {
      const auto value = apply(x.op, p.i, q.i, x.a->dtype);
      undefined |= !value;
      return ElementValue{.i = value.value_or(0)};
    });
    if (!undefined || !error_.empty()) return column(n);
    for (int k = 0; k < count; ++k) {
      if ((!mask || mask[k]) && b[k].i == 0) error_ = "divides by zero";
    }
    return column(n);
  }
  switch (x.op) {
    case BinaryOp::add:
      map_floats(n.slots, count, a, b, [](double p, double q) { return p + q; });
      break;
    case BinaryOp::sub:
      map_floats(n.slots, count, a, b, [](double p, double q) { return p - q; });
      break;
    case BinaryOp::mul:
      map_floats(n.slots, count, a, b, [](double p, double q) { return p * q; });
      break;
    case BinaryOp::div:
      map_floats(n.slots, count, a, b, [](double p, double q) { return p / q; });
      break;
    case BinaryOp::min:
      map_floats(n.slots, count, a, b, [](double p, double q) { return q < p ? q : p; });
      break;
    case BinaryOp::max:
      map_floats(n.slots, count, a, b, [](double p, double q) { return p < q ? q : p; });
      break;
    default:
      map(n.slots, count, a, b,
          [&](ElementValue p, ElementValue q) { return ElementValue{.i = compare_floats(x.op, p.f, q.f)}; });
  }
  return column(n);
}

ValueColumn CompiledBody::select_column(Node& n, Mask mask) {
  const ValueColumn condition = eval(n.children[0], mask);
  if (condition.step == 0) return eval(n.children[condition[0].i ? 1 : 2], mask);
  int wanted[2] = {0, 0};
  for (int k = 0; k < count_; ++k) {
    const bool active = !mask || mask[k];
    const bool side = condition[k].i != 0;
    n.masks[1][static_cast<std::size_t>(k)] = active && side;
    n.masks[0][static_cast<std::size_t>(k)] = active && !side;
    wanted[side] += active;
  }
  if (wanted[0] == 0) return eval(n.children[1], mask);
  if (wanted[1] == 0) return eval(n.children[2], mask);
  const ValueColumn yes = eval(n.children[1], n.masks[1].data());
  const ValueColumn no = eval(n.children[2], n.masks[0].data());
  for (int k = 0; k < count_; ++k)
    n.slots[static_cast<std::size_t>(k)] = n.masks[1][static_cast<std::size_t>(k)] ? yes[k] : no[k];
  return column(n);
}

ValueColumn CompiledBody::cast_column(Node& n, Mask mask) {
  const ValueColumn a = eval(n.children[0], mask);
  const DType to = n.expr->dtype, from = std::get<Cast>(n.expr->kind).a->dtype;
  auto convert = [&](ElementValue v, ElementValue) {
    if (is_float(from))
      return is_float(to) ? ElementValue{.f = round_to(to, v.f)} : ElementValue{.i = to_integer(to, v.f)};
    return is_float(to) ? ElementValue{.f = round_to(to, static_cast<double>(v.i))}
                        : ElementValue{.i = wrap_to(to, v.i)};
  };
  map(n.slots, width(n), a, a, convert);
  return column(n);
}

ValueColumn CompiledBody::call_column(Node& n, const Call& x, Mask mask) {
  const ValueColumn a = eval(n.children.front(), mask);
  if (x.fn == MathFn::bits_of) {
    const DType dtype = x.args.front()->dtype;
    map(n.slots, width(n), a, a, [&](ElementValue v, ElementValue) { return ElementValue{.i = bits_of(dtype, v.f)}; });
    return column(n);
  }
  const ValueColumn b = n.children.size() > 1 ? eval(n.children.back(), mask) : a;
  map_floats(n.slots, width(n), a, b, [&](double p, double q) { return apply(x.fn, p, q); });
  return column(n);
}

ValueColumn CompiledBody::load_column(Node& n, const Load& l, Mask mask) {
  return n.affine ? affine_load(n, l, mask) : general_load(n, l, mask);
}

ValueColumn CompiledBody::affine_load(Node& n, const Load& l, Mask mask) {
  const Shape& shape = dag_.op(OpId(l.source.value)).shape;
  bool inside = n.always_inside;
  if (!inside) {
    inside = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t first = at(n.index[d]), last = first + n.index[d].lane * (width(n) - 1);
      inside = inside && std::min(first, last) >= 0 && std::max(first, last) < shape[d];
    }
  }
  if (!inside) return general_load(n, l, mask);
  gather(n.slots, values_[static_cast<std::size_t>(l.source.value)], at(n.flat), n.flat.lane, width(n));
  return column(n);
}

ValueColumn CompiledBody::general_load(Node& n, const Load& l, Mask mask) {
  const Tensor& t = values_[static_cast<std::size_t>(l.source.value)];
  const Shape& shape = t.shape();
  std::vector<ValueColumn> index;
  for (int child : n.children) index.push_back(eval(child, mask));
  if (failed()) return column(n);
  for (int k = 0; k < width(n); ++k) {
    if (mask && !mask[k]) {
      n.slots[static_cast<std::size_t>(k)].i = 0;
      continue;
    }
    std::int64_t flat = 0;
    bool inside = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = index[d][k].i;
      inside = inside && i >= 0 && i < shape[d];
      if (inside) flat = flat * shape[d] + i;
    }
    if (!inside) {
      std::vector<std::int64_t> at;
      for (const ValueColumn& c : index) at.push_back(c[k].i);
      out_of_range(l, at);
      return column(n);
    }
    if (is_float(t.dtype())) {
      n.slots[static_cast<std::size_t>(k)].f = t.get(flat);
    } else {
      n.slots[static_cast<std::size_t>(k)].i = t.integer(flat);
    }
  }
  return column(n);
}

void CompiledBody::out_of_range(const Load& l, const std::vector<std::int64_t>& index) {
  if (failed()) return;
  const Op& source = dag_.op(OpId(l.source.value));
  error_ = "loads '" + source.name + "' at [";
  for (std::size_t d = 0; d < index.size(); ++d) error_ += (d ? ", " : "") + std::to_string(index[d]);
  error_ += "], outside its shape " + to_string(source.shape);
}

}  // namespace whet
