#include "import/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/fold_shape.h"

namespace whet {
namespace {

/// What is known while importing is short: shapes, axes, factors.
constexpr std::int64_t kMostEntries = 4096;

}  // namespace

const Tensor* NodeSite::constant(ValueId id) const {
  const auto& value = graph_.graph.value(id).constant;
  return value ? &*value : nullptr;
}

Result<Tensor> NodeSite::known(ValueId id, const std::string& what) {
  if (const Tensor* tensor = constant(id)) return *tensor;
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

Result<bool> NodeSite::goes_on(ValueId condition) const {
  const Tensor* known = constant(condition);
  if (known != nullptr && known->size() == 1) return known->get(0) != 0;
  if (graph_.folding_ended())
    return error("its condition is not known: what is computed while importing took more than " +
                 std::to_string(kMaxFoldingWork) + " elements");
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

Result<ValueId> NodeSite::padded_by(ValueId x, double number) {
  return graph_.padded_by(name_, x, Tensor::of<double>(dtype(x), {}, {number}));
}

Result<ValueId> NodeSite::either(ValueId condition, ValueId a, ValueId b) {
  const Counted of_a = counted(a), of_b = counted(b);
  const Shape extents = shape(a);
  WHET_TRY(const ValueId chosen, add("chosen", WhereOperator{}, {condition, a, b}));
  Counted of_chosen;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (!of_a.contains(d) && !of_b.contains(d)) continue;
    const auto number = [&](const Counted& of) {
      const auto found = of.find(d);
      return found != of.end() ? found->second
                               : add_constant("extent", Tensor::of<std::int64_t>(DType::i64, {}, {extents[d]}));
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
  return pass(x, i);
}

Status NodeSite::pass(ValueId x, std::size_t i) {
  if (wants_output(i)) graph_.define(outputs_[i], x);
  return ok_status();
}

Status NodeSite::give(const Operator& op, std::vector<ValueId> inputs, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  WHET_TRY(const GrowingGraph::Step step, graph_.add(name_, name_, value_name(i), op, std::move(inputs)));
  return pass(step.value, i);
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
