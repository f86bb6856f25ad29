#include "import/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/fold_shape.h"
#include "import/limits.h"

namespace whet {
namespace {

/// What is known while importing is short: shapes, axes, factors.
constexpr std::int64_t kMostEntries = 4096;

}  // namespace

Shape most_of(const std::vector<Size>& sizes) {
  Shape shape;
  for (const Size& size : sizes) shape.push_back(size.most);
  return shape;
}

const Tensor* NodeSite::constant(ValueId id) const {
  const auto& value = graph_.graph.value(id).constant;
  return value && counted(id).empty() ? &*value : nullptr;
}

Result<Tensor> NodeSite::known(ValueId id, const std::string& what) {
  if (const Tensor* tensor = constant(id)) return *tensor;
  if (graph_.bounds(id) != nullptr || !counted(id).empty())
    return error("its " + what + " is computed from a number of results, which depends on values; expected one that " +
                 "is known while importing");
  const auto behind = graph_.inputs_behind(id);
  std::string names;
  for (const std::string& input : behind) {
    names += (names.empty() ? "" : ", ") + in_quotes(input);
    graph_.needed_values.insert(input);
  }
  if (behind.empty())
    return error("its " + what + " must be known while importing, and is computed by nodes that are not folded");
  // A picture's values would not be folded through a network.
  const auto large = [&](ValueId input) {
    const Value& value = graph_.graph.value(input);
    return is_float(value.type.dtype) && num_elements(value.type.shape) > kMaxFoldedFloats &&
           std::find(behind.begin(), behind.end(), value.name) != behind.end();
  };
  if (std::any_of(graph_.graph.inputs.begin(), graph_.graph.inputs.end(), large)) {
    return error("its " + what + " must be known while importing, and is computed from the values of input " + names);
  }
  return error("its " + what + " is computed from the values of input " + names + "; give " +
               (behind.size() == 1 ? "its value" : "their values") + " (--input " + behind.front() + "=FILE.npy)");
}

std::optional<bool> NodeSite::known_part(ValueId condition) const {
  const Node* node = graph_.maker(condition);
  const auto* both = node == nullptr ? nullptr : std::get_if<BinaryOperator>(&node->op);
  if (both == nullptr || both->kind != BinaryKind::logical_and) return std::nullopt;
  for (const ValueId operand : node->inputs)
    if (const Tensor* known = constant(operand); known != nullptr && known->size() == 1) return known->get(0) != 0;
  return std::nullopt;
}

Result<bool> NodeSite::goes_on(ValueId condition) const {
  const Tensor* known = constant(condition);
  if (known != nullptr && known->size() == 1) return known->get(0) != 0;
  if (graph_.folding_ended())
    return error("its condition is not known: what is computed while importing took more than " +
                 std::to_string(import_limits().folding_work) + " elements");
  return error("its condition depends on values; only loops whose number of rounds is known are supported");
}

Result<std::vector<std::int64_t>> NodeSite::known_integers(ValueId id, const std::string& what) {
  WHET_TRY(const Tensor tensor, known(id, what));
  const bool integers = tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32;
  if (!integers || tensor.shape().size() > 1) {
    return error("its " + what + " is " + to_string(tensor.type()) + "; expected a list of i64");
  }
  if (tensor.size() > kMostEntries) return error("its " + what + " has " + std::to_string(tensor.size()) + " entries");
  std::vector<std::int64_t> values;
  for (std::int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.integer(k));
  return values;
}

Result<double> NodeSite::known_number(ValueId id, const std::string& what) {
  WHET_TRY(const Tensor tensor, known(id, what));
  if (tensor.size() == 1) return tensor.get(0);
  return error("its " + what + " is " + to_string(tensor.type()) + "; expected one number");
}

Result<std::vector<double>> NodeSite::known_numbers(ValueId id, const std::string& what) {
  WHET_TRY(const Tensor tensor, known(id, what));
  if (!is_float(tensor.dtype()) || tensor.shape().size() != 1) {
    return error("its " + what + " is " + to_string(tensor.type()) + "; expected a list of f32");
  }
  if (tensor.size() > kMostEntries) return error("its " + what + " has " + std::to_string(tensor.size()) + " entries");
  std::vector<double> values;
  for (std::int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.get(k));
  return values;
}

Result<std::int64_t> NodeSite::resolve_axis(std::int64_t axis, std::size_t limit) const {
  const auto count = static_cast<std::int64_t>(limit);
  if (count == 0) return error("axis " + std::to_string(axis) + " does not exist: a scalar has none");
  if (axis >= -count && axis < count) return axis < 0 ? axis + count : axis;
  return error("axis " + std::to_string(axis) + " does not exist; expected " + std::to_string(-count) + " to " +
               std::to_string(count - 1));
}

Result<std::vector<std::int64_t>> NodeSite::resolve_axes(std::vector<std::int64_t> axes, std::size_t rank) const {
  for (std::int64_t& axis : axes) {
    WHET_TRY(axis, resolve_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice == axes.end()) return axes;
  return error("axis " + std::to_string(*twice) + " is named twice");
}

Result<ValueId> NodeSite::add(const std::string& part, const Operator& op, std::vector<ValueId> inputs) {
  const std::string step = name_ + "/" + part;
  WHET_TRY(GrowingGraph::Step added, graph_.add(name_, step, graph_.unique_value_name(step), op, std::move(inputs)));
  steps_.push_back(std::move(added));
  return steps_.back().value;
}

ValueId NodeSite::add_constant(const std::string& part, Tensor tensor) {
  const std::string step = name_ + "/" + part;
  const ValueId id = graph_.add_made(graph_.unique_value_name(step), std::move(tensor));
  steps_.push_back({id, step, std::nullopt});
  return id;
}

Result<std::vector<Size>> NodeSite::known_sizes(ValueId id, const std::string& what) {
  const Bounds* bounds = graph_.bounds(id);
  std::vector<Size> sizes;
  if (bounds == nullptr || is_float(dtype(id)) || dtype(id) == DType::boolean || rank(id) > 1) {
    WHET_TRY(const std::vector<std::int64_t> known, known_integers(id, what));
    for (const std::int64_t size : known) sizes.push_back({size});
    return sizes;
  }
  const Tensor low = bounds->low, high = bounds->high;
  WHET_TRY(const ValueId numbers, cast("sizes", id, DType::i64));
  for (std::int64_t i = 0; i < high.size(); ++i) {
    sizes.push_back({high.integer(i)});
    if (low.integer(i) == high.integer(i)) continue;
    ValueId count = numbers;
    if (rank(id) == 1) {
      WHET_TRY(count, add("size", SliceOperator{{i}, {1}, {1}}, {numbers}));
      WHET_TRY(count, add("number", ReshapeOperator{Shape{}}, {count}));
    }
    sizes.back() = {std::max<std::int64_t>(high.integer(i), 0), count};
  }
  return sizes;
}

std::vector<Size> NodeSite::sizes(ValueId x) const {
  std::vector<Size> sizes;
  for (const std::int64_t extent : shape(x)) sizes.push_back({extent});
  for (const auto& [d, count] : counted(x)) sizes[d].count = count;
  return sizes;
}

void NodeSite::set_sizes(ValueId x, const std::vector<Size>& sizes) {
  Counted counts = counted(x);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d].count && sizes[d].most > 0) counts[d] = *sizes[d].count;
  set_counted(x, std::move(counts));
}

Result<ValueId> NodeSite::size_list(const std::vector<Size>& sizes) {
  const auto extents = static_cast<std::int64_t>(sizes.size());
  const bool decided = std::any_of(sizes.begin(), sizes.end(), [](const Size& each) { return each.count.has_value(); });
  if (!decided) return add_constant("sizes", Tensor::of(DType::i64, {extents}, most_of(sizes)));
  std::vector<ValueId> parts;
  for (const Size& size : sizes) {
    if (size.count) {
      WHET_TRY(const ValueId part, add("size", ReshapeOperator{{1}}, {*size.count}));
      parts.push_back(part);
    } else {
      parts.push_back(add_constant("size", Tensor::of<std::int64_t>(DType::i64, {1}, {size.most})));
    }
  }
  return parts.size() == 1 ? parts[0] : add("sizes", ConcatOperator{0}, parts);
}

Result<ValueId> NodeSite::size_product(const std::vector<Size>& sizes) {
  std::int64_t known = 1;
  for (const Size& size : sizes)
    if (!size.count) known *= size.most;
  const auto number = [&] { return add_constant("known_size", Tensor::of<std::int64_t>(DType::i64, {}, {known})); };
  std::optional<ValueId> product = known == 1 ? std::nullopt : std::optional(number());
  for (const Size& size : sizes) {
    if (!size.count) continue;
    if (product) {
      WHET_TRY(product, add("size", BinaryOperator{BinaryKind::mul}, {*product, *size.count}));
    } else {
      product = size.count;
    }
  }
  return product ? *product : number();
}

Result<ValueId> NodeSite::padded_by(ValueId x, double number) {
  return graph_.padded_by(name_, x, Tensor::of<double>(dtype(x), {}, {number}));
}

bool NodeSite::are_alike(ValueId a, ValueId b) const {
  if (type(a) == type(b)) return true;
  if (dtype(a) != dtype(b) || rank(a) != rank(b)) return false;
  const bool a_is_empty = num_elements(shape(a)) == 0, b_is_empty = num_elements(shape(b)) == 0;
  for (std::size_t d = 0; d < rank(a); ++d)
    if (shape(a)[d] != shape(b)[d] && shape(a_is_empty ? a : b)[d] != 0) return false;
  return a_is_empty != b_is_empty;
}

Result<ValueId> NodeSite::either_or_nothing(ValueId condition, ValueId a, ValueId b) {
  const bool is_first = num_elements(shape(b)) == 0;
  const ValueId some = is_first ? a : b;
  const Shape extents = shape(some), nothing = shape(is_first ? b : a);
  std::vector<Size> sizes = this->sizes(some);
  const auto number = [&](std::int64_t n) { return add_scalar("extent", DType::i64, static_cast<double>(n)); };
  WHET_TRY(const ValueId chosen, add("chosen", ReshapeOperator{extents}, {some}));
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (nothing[d] == extents[d]) continue;
    const ValueId all = sizes[d].count ? *sizes[d].count : number(extents[d]), none = number(0);
    WHET_TRY(sizes[d].count,
             add("chosen_count", WhereOperator{}, {condition, is_first ? all : none, is_first ? none : all}));
  }
  set_sizes(chosen, sizes);
  return chosen;
}

Result<ValueId> NodeSite::either(ValueId condition, ValueId a, ValueId b) {
  WHET_TRY(const ValueId chosen, shape(a) != shape(b) ? either_or_nothing(condition, a, b) : one_of(condition, a, b));
  const auto held = graph_.held_types.find(a.value);
  if (held != graph_.held_types.end()) graph_.held_types[chosen.value] = held->second;
  return chosen;
}

Result<ValueId> NodeSite::one_of(ValueId condition, ValueId a, ValueId b) {
  const Counted of_a = counted(a), of_b = counted(b);
  const Shape extents = shape(a);
  WHET_TRY(const ValueId chosen, add("chosen", WhereOperator{}, {condition, a, b}));
  Counted of_chosen;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (!of_a.contains(d) && !of_b.contains(d)) continue;
    const auto number = [&](const Counted& of) {
      const auto found = of.find(d);
      return found != of.end() ? found->second : add_scalar("extent", DType::i64, static_cast<double>(extents[d]));
    };
    WHET_TRY(const ValueId count, add("chosen_count", WhereOperator{}, {condition, number(of_a), number(of_b)}));
    of_chosen.emplace(d, count);
  }
  set_counted(chosen, std::move(of_chosen));
  return chosen;
}

Result<ValueId> NodeSite::cast(const std::string& part, ValueId x, DType dtype) {
  if (type(x).dtype == dtype) return x;
  return add(part, CastOperator{dtype}, {x});
}

ValueId NodeSite::add_scalar(const std::string& part, DType dtype, double value) {
  return add_constant(part, Tensor::of<double>(dtype, {}, {value}));
}

Status NodeSite::give(ValueId x, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  const auto is_x = [&](const GrowingGraph::Step& step) { return step.value == x; };
  if (const auto step = std::find_if(steps_.rbegin(), steps_.rend(), is_x); step != steps_.rend()) {
    graph_.rename(*step, name_, value_name(i));
    steps_.erase(std::next(step).base());
  }
  return NodeSite::pass(x, i);
}

Status NodeSite::pass(ValueId x, std::size_t i) {
  if (wants_output(i)) graph_.define(outputs_[i], x);
  return ok_status();
}

Status NodeSite::give(const Result<std::vector<ValueId>>& values) {
  WHET_RETURN_IF_ERROR(values);
  if (values->size() < output_count())
    return error("gives " + std::to_string(values->size()) + " results; the node has " +
                 std::to_string(output_count()));
  for (std::size_t i = 0; i < output_count(); ++i) WHET_RETURN_IF_ERROR(give((*values)[i], i));
  return ok_status();
}

Status NodeSite::give(const Operator& op, std::vector<ValueId> inputs, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  WHET_TRY(const GrowingGraph::Step step, graph_.add(name_, name_, value_name(i), op, std::move(inputs)));
  return NodeSite::pass(step.value, i);
}

Status NodeSite::give_constant(Tensor tensor, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  return pass(graph_.add_made(value_name(i), std::move(tensor)), i);
}

Status NodeSite::give_sequence(DType dtype, std::vector<ValueId> values, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  return pass(graph_.add_sequence(outputs_[i], dtype, std::move(values)), i);
}

Status NodeSite::give_absent() { return wants_output(0) ? pass(graph_.add_absent(outputs_[0])) : ok_status(); }

}  // namespace whet
