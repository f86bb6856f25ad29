#include "ops/site.h"

#include <algorithm>
#include <utility>

namespace whet {
namespace {

/// The constant that the whole op is, or nothing.
Expr literal(const Op& op) {
  const auto* element = std::get_if<Element>(&op.def);
  if (!element || element->reducer) return {};
  const ExprKind& kind = element->body->kind;
  const bool constant = std::holds_alternative<FloatConst>(kind) || std::holds_alternative<IntConst>(kind);
  return constant ? element->body : Expr();
}

OpId add_op(const Site& site, const std::string& name, Element element,
            const std::function<Expr(const Element&)>& body) {
  element.body = body(element);
  Shape shape;
  for (const Axis& axis : element.axes) shape.push_back(axis.extent);
  const DType dtype = element.body->dtype;
  return site.dag.add({site.names.unique(site.dag, name), dtype, std::move(shape), std::move(element)});
}

Exprs variables(const Element& element, std::size_t first, std::size_t count) {
  Exprs list;
  for (std::size_t k = 0; k < count; ++k) list.push_back(axis_var(element, static_cast<std::int64_t>(first + k)));
  return list;
}

}  // namespace

Expr Site::read(OpId id, Exprs index) const {
  if (Expr constant = literal(dag.op(id)); constant.defined()) return constant;
  return load(dag, id, std::move(index));
}

Expr Site::read(std::size_t k, Exprs index) const { return read(inputs[k], std::move(index)); }

Expr Site::read_broadcast(std::size_t k, const Exprs& i) const {
  const Shape& from = shape(k);
  Exprs index;
  const std::size_t skipped = i.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool repeated = from[d] == 1 && output.shape[skipped + d] != 1;
    index.push_back(repeated ? int_const(0) : i[skipped + d]);
  }
  return read(k, std::move(index));
}

OpId Site::map(const std::string& op_name, std::vector<Axis> axes, OpFamily family, const MapBody& body) const {
  return add_op(*this, op_name, {.axes = std::move(axes), .family = family},
                [&](const Element& e) { return body(variables(e, 0, e.axes.size())); });
}

OpId Site::reduce(const std::string& op_name, std::vector<Axis> axes, std::vector<Axis> reduce_axes, Reducer reducer,
                  OpFamily family, const ReduceBody& body) const {
  Element element{
      .axes = std::move(axes), .reduce_axes = std::move(reduce_axes), .reducer = reducer, .body = {}, .family = family};
  return add_op(*this, op_name, std::move(element), [&](const Element& e) {
    return body(variables(e, 0, e.axes.size()), variables(e, e.axes.size(), e.reduce_axes.size()));
  });
}

OpId Site::result(OpFamily family, const MapBody& body) const { return map(name, axes_of(output.shape), family, body); }

DType wide_type(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

Expr widened(const Expr& x) { return cast(wide_type(x->dtype), x); }

OpId rounded_sum(const Site& site, OpId sum) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) { return cast(site.output.dtype, site.read(sum, i)); });
}

Expr clamped(Expr at, std::int64_t extent) { return min(max(std::move(at), int_const(0)), int_const(extent - 1)); }

std::vector<Axis> axes_of(const Shape& shape) {
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) axes.push_back({"i" + std::to_string(d), shape[d]});
  return axes;
}

std::vector<Axis> spatial_axes(const Shape& extents) {
  static const Axis kAxes[] = {{"z", 1, AxisRole::depth}, {"y", 1, AxisRole::row}, {"x", 1, AxisRole::column}};
  std::vector<Axis> axes(std::end(kAxes) - static_cast<std::ptrdiff_t>(extents.size()), std::end(kAxes));
  for (std::size_t d = 0; d < extents.size(); ++d) axes[d].extent = extents[d];
  return axes;
}

std::vector<Axis> tap_axes(const Shape& extents) {
  static const char* const kNames[] = {"rd", "rh", "rw"};
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    axes.push_back({kNames[3 - extents.size() + d], extents[d], AxisRole::tap});
  }
  return axes;
}

OpId padded_input(const Site& site, std::size_t first, const std::vector<std::int64_t>& begin,
                  const std::vector<std::int64_t>& end, const Expr& value) {
  auto is_zero = [](std::int64_t pad) { return pad == 0; };
  if (std::all_of(begin.begin(), begin.end(), is_zero) && std::all_of(end.begin(), end.end(), is_zero)) {
    return site.inputs[0];
  }
  Shape extents;
  for (std::size_t d = 0; d < begin.size(); ++d) extents.push_back(site.shape(0)[first + d] + begin[d] + end[d]);
  std::vector<Axis> spatial = spatial_axes(extents);
  std::vector<Axis> axes = {{"n", site.shape(0)[0], AxisRole::batch}};
  const Axis channel{"c", site.shape(0)[first == 1 ? first + begin.size() : 1], AxisRole::channel};
  if (first == 2) axes.push_back(channel);
  axes.insert(axes.end(), spatial.begin(), spatial.end());
  if (first == 1) axes.push_back(channel);
  if (axes.size() < site.shape(0).size()) axes.push_back({"cb", site.shape(0).back(), AxisRole::channel});
  return site.map(site.part("pad"), axes, OpFamily::pad, [&](const Exprs& i) {
    Exprs index = i;
    Expr inside = bool_const(true);
    for (std::size_t d = 0; d < begin.size(); ++d) {
      const Expr& at = i[first + d];
      const std::int64_t extent = site.shape(0)[first + d];
      if (begin[d] > 0) inside = inside && at >= int_const(begin[d]);
      if (end[d] > 0) inside = inside && at < int_const(begin[d] + extent);
      index[first + d] = at - begin[d];
    }
    return select(inside, site.read(0, index), value);
  });
}

}  // namespace whet
