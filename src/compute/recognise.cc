#include "compute/recognise.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compute/affine.h"

namespace whet {
namespace {

/// How a load goes over the axes of its op.
struct LoadPattern {
  std::vector<bool> reads;           ///< by axis: whether it is a term of an index. Axes inside of a floordiv are not.
  std::map<AxisId, AxisId> windows;  ///< spatial axes to the taps that are added to them
};

std::int64_t axis_count(const Element& e) { return std::ssize(e.axes) + std::ssize(e.reduce_axes); }
bool is_spatial(const Element& e, AxisId axis) { return axis.value < std::ssize(e.axes); }

LoadPattern pattern_of(const Element& e, const Load& load) {
  LoadPattern pattern;
  pattern.reads.resize(static_cast<std::size_t>(axis_count(e)));
  for (const Expr& index : load.index) {
    const Affine sum = to_affine(index);
    std::vector<AxisId> spatial, reduced;
    for (const auto& [atom, step] : sum.terms) {
      const auto* variable = std::get_if<Var>(&atom->kind);
      if (variable == nullptr) continue;
      const AxisId axis(variable->id.value);
      pattern.reads[axis.index()] = true;
      (is_spatial(e, axis) ? spatial : reduced).push_back(axis);
    }
    if (sum.terms.size() == 2 && spatial.size() == 1 && reduced.size() == 1)
      pattern.windows.emplace(spatial[0], reduced[0]);
  }
  return pattern;
}

/// The load that `e` is, perhaps in another dtype.
const Load* converted_load(const Expr& e) {
  const auto* cast = std::get_if<Cast>(&e->kind);
  return std::get_if<Load>(cast ? &cast->a->kind : &e->kind);
}

Axis& axis_at(Element& e, AxisId axis) {
  const auto spatial = e.axes.size();
  return is_spatial(e, axis) ? e.axes[axis.index()] : e.reduce_axes[axis.index() - spatial];
}

/// The axes of an op by the loads of a product that read them.
struct Product {
  std::vector<AxisId> both, left, right, neither;  ///< spatial
  std::vector<AxisId> reduced;                     ///< in both; taps are not among them
};

/// Nothing where an axis that is reduced is not in both.
std::optional<Product> product_of(const Element& e, const LoadPattern& left, const LoadPattern& right) {
  Product product;
  for (std::int64_t k = 0; k < axis_count(e); ++k) {
    const AxisId axis(k);
    const bool is_left = left.reads[axis.index()], is_right = right.reads[axis.index()];
    if (is_spatial(e, axis)) {
      (is_left && is_right ? product.both
       : is_left           ? product.left
       : is_right          ? product.right
                           : product.neither)
          .push_back(axis);
      continue;
    }
    if (!is_left || !is_right) return std::nullopt;
    const bool is_tap = std::ranges::any_of(left.windows, [&](const auto& window) { return window.second == axis; });
    if (!is_tap) product.reduced.push_back(axis);
  }
  return product;
}

using Roles = std::vector<std::pair<AxisId, AxisRole>>;

void name_all(Roles& roles, const std::vector<AxisId>& axes, AxisRole role) {
  for (const AxisId axis : axes) roles.emplace_back(axis, role);
}

/// Rows, columns and planes, from the innermost window outwards, and their taps. False where there are more than three.
bool name_windows(Roles& roles, const LoadPattern& data) {
  static constexpr AxisRole kRoles[] = {AxisRole::column, AxisRole::row, AxisRole::depth};
  if (data.windows.size() > std::size(kRoles)) return false;
  std::size_t next = 0;
  for (auto window = data.windows.rbegin(); window != data.windows.rend(); ++window) {
    roles.emplace_back(window->first, kRoles[next++]);
    roles.emplace_back(window->second, AxisRole::tap);
  }
  return true;
}

struct Recognised {
  OpFamily family;
  Roles roles;
};

/// The rows are of the load that does not read the last axis of one load alone: x·w as well as w·x in a body.
std::optional<Recognised> matrix_product(Product product) {
  if (product.left.empty() || product.right.empty() || product.reduced.size() != 1) return std::nullopt;
  if (product.left.back() > product.right.back()) std::swap(product.left, product.right);
  Recognised out{OpFamily::matmul, {}};
  name_all(out.roles, product.left, AxisRole::batch);
  name_all(out.roles, product.right, AxisRole::batch);
  name_all(out.roles, product.both, AxisRole::batch);
  name_all(out.roles, product.neither, AxisRole::batch);
  out.roles.emplace_back(product.left.back(), AxisRole::row);
  out.roles.emplace_back(product.right.back(), AxisRole::out_channel);
  name_all(out.roles, product.reduced, AxisRole::in_channel);
  return out;
}

std::optional<Recognised> convolution(const Product& product, const LoadPattern& data) {
  Recognised out{product.both.empty() ? OpFamily::conv : OpFamily::depthwise, {}};
  const bool is_whole = product.both.empty() ? !product.right.empty() && !product.reduced.empty()
                                             : product.right.empty() && product.reduced.empty();
  const auto is_window = [&](AxisId axis) { return data.windows.contains(axis); };
  if (!is_whole || std::ranges::any_of(product.both, is_window)) return std::nullopt;
  name_all(out.roles, product.left, AxisRole::batch);
  name_all(out.roles, product.neither, AxisRole::batch);
  name_all(out.roles, product.both, AxisRole::channel);
  name_all(out.roles, product.right, AxisRole::out_channel);
  name_all(out.roles, product.reduced, AxisRole::in_channel);
  return name_windows(out.roles, data) ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Recognised> recognise_product(const Element& e, const Load& a, const Load& b) {
  LoadPattern data = pattern_of(e, a), weights = pattern_of(e, b);
  if (data.windows.empty()) std::swap(data, weights);
  if (!weights.windows.empty()) return std::nullopt;
  std::optional<Product> product = product_of(e, data, weights);
  if (!product) return std::nullopt;
  return data.windows.empty() ? matrix_product(std::move(*product)) : convolution(*product, data);
}

std::optional<Recognised> recognise_pool(const Element& e, const Load& load) {
  const LoadPattern pattern = pattern_of(e, load);
  if (pattern.windows.empty() || pattern.windows.size() != e.reduce_axes.size()) return std::nullopt;
  Recognised out{OpFamily::pool, {}};
  std::vector<AxisId> others;
  for (std::int64_t k = 0; k < std::ssize(e.axes); ++k)
    if (!pattern.windows.contains(AxisId(k))) others.emplace_back(k);
  name_all(out.roles, others, AxisRole::channel);
  if (others.size() > 1) out.roles.emplace_back(others.front(), AxisRole::batch);
  return name_windows(out.roles, pattern) ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Recognised> recognise_reduction(const Element& e) {
  if (const Load* load = converted_load(e.body)) return recognise_pool(e, *load);
  const auto* product = std::get_if<Binary>(&e.body->kind);
  if (e.reducer != Reducer::sum || product == nullptr || product->op != BinaryOp::mul) return std::nullopt;
  const Load *a = converted_load(product->a), *b = converted_load(product->b);
  return a && b ? recognise_product(e, *a, *b) : std::nullopt;
}

bool is_pad(const Element& e) {
  const auto* choice = std::get_if<Select>(&e.body->kind);
  if (e.reducer || choice == nullptr) return false;
  const auto is_value = [](const Expr& side) {
    return std::holds_alternative<FloatConst>(side->kind) || std::holds_alternative<IntConst>(side->kind);
  };
  return converted_load(choice->if_true) && is_value(choice->if_false);
}

/// The role that a reader of a padded tensor gives to the dimension at which its axis `axis` stands.
AxisRole role_of_dimension(const Element& reader, const Expr& index) {
  for (const auto& [atom, step] : to_affine(index).terms) {
    const auto* variable = std::get_if<Var>(&atom->kind);
    if (variable == nullptr) continue;
    const AxisRole role = axis_of(reader, AxisId(variable->id.value)).role;
    if (role == AxisRole::in_channel) return AxisRole::channel;
    if (role != AxisRole::tap) return role;
  }
  return AxisRole::other;
}

std::optional<Recognised> recognise_pad(const ComputeDag& dag, OpId id) {
  const std::vector<OpId> readers = consumers_of(dag, id);
  if (readers.size() != 1 || !dag.op(readers[0]).element().reducer) return std::nullopt;
  const Element& reader = dag.op(readers[0]).element();
  Recognised out{OpFamily::pad, {}};
  for_each(reader.body, [&](const Expr& part) {
    const auto* load = std::get_if<Load>(&part->kind);
    if (load == nullptr || load->source.value != id.value || !out.roles.empty()) return;
    for (std::size_t d = 0; d < load->index.size(); ++d)
      out.roles.emplace_back(AxisId(static_cast<std::int64_t>(d)), role_of_dimension(reader, load->index[d]));
  });
  return out;
}

bool is_plain(const Element& e) {
  const auto has_role = [](const Axis& axis) { return axis.role != AxisRole::other; };
  return e.family == OpFamily::other && std::ranges::none_of(e.axes, has_role) &&
         std::ranges::none_of(e.reduce_axes, has_role);
}

void apply_to(Element& e, const Recognised& found) {
  e.family = found.family;
  for (const auto& [axis, role] : found.roles) axis_at(e, axis).role = role;
}

}  // namespace

ComputeDag recognised(ComputeDag dag) {
  // Readers first: they name what is padded for them.
  for (std::size_t i = dag.ops.size(); i-- > 0;) {
    Op& op = dag.ops[i];
    if (op.is_placeholder() || !is_plain(op.element())) continue;
    Element& e = op.element();
    const std::optional<Recognised> found = e.reducer   ? recognise_reduction(e)
                                            : is_pad(e) ? recognise_pad(dag, OpId(static_cast<std::int64_t>(i)))
                                                        : std::nullopt;
    if (found) apply_to(e, *found);
  }
  return dag;
}

}  // namespace whet
