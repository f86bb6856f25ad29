#include "compute/anchor.h"

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "compute/affine.h"
#include "compute/names.h"

namespace whet {
namespace {

bool is_convolution_or_product(const Element& e) {
  return e.family == OpFamily::conv || e.family == OpFamily::depthwise || e.family == OpFamily::matmul;
}

double iterations(const Element& e) {
  double count = 1;
  for (const Axis& axis : e.axes) count *= static_cast<double>(axis.extent);
  for (const Axis& axis : e.reduce_axes) count *= static_cast<double>(axis.extent);
  return count;
}

/// All convolutions and products, or where there is none the largest reduction.
std::vector<OpId> anchors(const ComputeDag& dag) {
  std::vector<OpId> products;
  OpId largest;
  double most = 0;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId id(static_cast<std::int64_t>(i));
    const Op& op = dag.op(id);
    if (op.is_placeholder() || !op.element().reducer || is_constant(dag, id)) continue;
    if (is_convolution_or_product(op.element())) products.push_back(id);
    if (const double size = iterations(op.element()); size > most) most = size, largest = id;
  }
  if (products.empty() && most > 0) products.push_back(largest);
  return products;
}

/// The axes in the order of their roles: axes of one role keep their order.
std::vector<Axis> by_role(std::vector<Axis> axes) {
  std::ranges::stable_sort(axes, {}, &Axis::role);
  return axes;
}

bool is_of_window(AxisRole role) {
  return role == AxisRole::row || role == AxisRole::column || role == AxisRole::depth;
}

/// The largest step with which the op's rows, columns or planes go over what it reads.
std::int64_t stride_of(const Element& e) {
  std::int64_t stride = 1;
  for_each(e.body, [&](const Expr& part) {
    const auto* load = std::get_if<Load>(&part->kind);
    if (load == nullptr) return;
    for (const Expr& index : load->index)
      for (const auto& [atom, step] : to_affine(index).terms)
        if (const auto* variable = std::get_if<Var>(&atom->kind);
            variable && is_of_window(axis_of(e, AxisId(variable->id.value)).role))
          stride = std::max(stride, std::abs(step));
  });
  return stride;
}

void append(Anchor& anchor, const ComputeDag& dag, OpId id) {
  const Op& op = dag.op(id);
  const Element& e = op.element();
  std::string& kind = anchor.kind;
  if (!kind.empty()) kind += " > ";
  kind += std::string(name_of(e.family)) + " " + std::string(name_of(op.dtype)) + "(";
  const std::vector<OpId> inputs = inputs_of(dag, id);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    kind += (i > 0 ? "," : "") + std::string(name_of(dag.op(inputs[i]).dtype));
  kind += ")" + std::string(sign_of(*e.reducer));
  const auto add = [&](const std::vector<Axis>& axes) {
    const char* before = " ";
    for (const Axis& axis : by_role(axes)) {
      kind += before + std::string(name_of(axis.role));
      anchor.extents.push_back(axis.extent);
      before = ",";
    }
  };
  add(e.axes);
  kind += ";";
  add(e.reduce_axes);
  anchor.stride = std::max(anchor.stride, stride_of(e));
  for (const OpId input : inputs)
    if (!dag.op(input).is_placeholder() && dag.op(input).element().family == OpFamily::pad) anchor.padded = true;
}

/// The key up to its first extent.
std::uint64_t structure_of(const ComputeDag& dag) {
  const std::string key = workload_key(dag);
  return hash_bytes(std::string_view(key).substr(0, key.find(',')));
}

double ratio(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

}  // namespace

std::optional<Anchor> anchor_of(const ComputeDag& dag) {
  Anchor anchor;
  for (const OpId id : anchors(dag)) append(anchor, dag, id);
  if (anchor.kind.empty()) return std::nullopt;
  anchor.structure = structure_of(dag);
  return anchor;
}

double anchor_distance(const Anchor& a, const Anchor& b) {
  if (a.kind != b.kind || a.extents.size() != b.extents.size()) return kInfinity;
  double distance = 2 * ratio(a.stride, b.stride);
  if (a.padded != b.padded) distance += 0.5;
  if (a.structure != b.structure) distance += 0.25;
  for (std::size_t i = 0; i < a.extents.size(); ++i) distance += ratio(a.extents[i], b.extents[i]);
  return distance;
}

std::string describe(const Anchor& anchor) {
  std::string text;
  std::size_t at = 0;
  std::string_view left = anchor.kind;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(" > "), left.size());
    const std::string_view op = left.substr(0, end);
    left.remove_prefix(std::min(end + 3, left.size()));
    if (!text.empty()) text += " > ";
    text += op.substr(0, op.find(' '));
    // A role stands behind a blank or a comma; the roles of the reduction behind ";".
    const std::string_view roles = op.substr(std::min(op.find('=') + 1, op.size()));
    const auto extents = [&](std::string_view part, const char* before) {
      for (std::size_t i = 0; i < part.size() && at < anchor.extents.size(); ++i)
        if (part[i] == ' ' || part[i] == ',') text += before + std::to_string(anchor.extents[at++]), before = "x";
    };
    const std::size_t reduced = std::min(roles.find(';'), roles.size());
    extents(roles.substr(0, reduced), " ");
    extents(roles.substr(reduced), " of ");
  }
  if (anchor.stride > 1) text += ", stride " + std::to_string(anchor.stride);
  return text;
}

}  // namespace whet
