#include <algorithm>

#include "import/fold_shape.h"
#include "import/growing.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

/// Results whose number depends on values, while a graph grows.
namespace whet {

const Counted& GrowingGraph::counted(ValueId id) const {
  static const Counted kNone;
  const auto found = counted_.find(id.value);
  return found == counted_.end() ? kNone : found->second;
}

void GrowingGraph::set_counted(ValueId id, Counted counted) {
  const auto number = [](std::int64_t n) { return Tensor::of<std::int64_t>(DType::i64, {}, {n}); };
  const Shape& shape = graph.value(id).type.shape;
  for (const auto& [d, count] : counted) {
    if (!graph.value(count).constant) bounds_.try_emplace(count.value, Bounds{number(0), number(shape[d])});
  }
  if (counted.empty()) {
    counted_.erase(id.value);
  } else {
    counted_[id.value] = std::move(counted);
  }
}

const Bounds* GrowingGraph::bounds(ValueId id) const {
  const auto found = bounds_.find(id.value);
  return found == bounds_.end() ? nullptr : &found->second;
}

std::optional<Bounds> GrowingGraph::bounds_of_result(const Operator& op, const std::vector<ValueId>& inputs,
                                                     const TensorType& result) {
  const auto bound = [&](ValueId id) { return bounds(id) != nullptr; };
  if (folding_ended() || std::none_of(inputs.begin(), inputs.end(), bound)) return std::nullopt;
  std::vector<Bounds> operands;
  std::vector<const Tensor*> values;
  for (ValueId id : inputs) {
    const auto& constant = graph.value(id).constant;
    if (!counted(id).empty() || (!constant && !bound(id))) return std::nullopt;
    operands.push_back(constant ? Bounds{*constant, *constant} : *bounds(id));
    values.push_back(constant ? &*constant : &bounds(id)->low);
  }
  folding_work_ += folding_work(op, values, result);
  return bounds_of(op, operands, result);
}

Result<ValueId> GrowingGraph::at_most(const std::string& label, ValueId count, std::int64_t most) {
  const auto found = cut_counts_.find({count.value, most});
  if (found != cut_counts_.end()) return found->second;
  const ValueId limit = add_made(unique_value_name(label + "/most"), Tensor::of<std::int64_t>(DType::i64, {}, {most}));
  WHET_TRY(const ValueId cut, add_step(label, "count", BinaryOperator{BinaryKind::min}, {count, limit}));
  cut_counts_.emplace(std::pair(count.value, most), cut);
  return cut;
}

Result<ValueId> GrowingGraph::padded_by(const std::string& label, ValueId id, Tensor number) {
  const Counted dimensions = counted(id);
  if (dimensions.empty()) return id;
  const ValueId padding = add_made(unique_value_name(label + "/padding"), std::move(number));
  for (const auto& [d, count] : dimensions) {
    const Shape& shape = graph.value(id).type.shape;
    const ValueId places =
        add_made(unique_value_name(label + "/places"), numbered(shape_along(d, shape.size(), shape[d])));
    WHET_TRY(const ValueId filled, add_step(label, "filled", BinaryOperator{BinaryKind::less}, {places, count}));
    WHET_TRY(id, add_step(label, "padded", WhereOperator{}, {filled, id, padding}));
  }
  set_counted(id, {});
  return id;
}

Error GrowingGraph::would_mix(const std::string& label, const Operator& op, ValueId id) const {
  const Value& operand = graph.value(id);
  return Error{label + ": how many entries of \"" + operand.name + "\" (" + to_string(operand.type) +
               ") are results depends on values; its " + name_of(op) + " would mix them with the padding behind them"};
}

Result<Counted> GrowingGraph::count_result(const std::string& label, const Operator& op, std::vector<ValueId>& inputs,
                                           const TensorType& result) {
  if (std::all_of(inputs.begin(), inputs.end(), [&](ValueId id) { return counted(id).empty(); })) return Counted();
  std::vector<Counted> operands;
  std::vector<Shape> shapes;
  for (ValueId id : inputs) {
    operands.push_back(counted(id));
    shapes.push_back(graph.value(id).type.shape);
  }
  const CountedResult found = counted_result(op, operands, shapes, result.shape);
  for (const std::size_t mixed : found.mixed) {
    const Value& operand = graph.value(inputs[mixed]);
    std::optional<Tensor> neutral = neutral_padding(op, mixed, operand.type.dtype);
    if (!neutral) return would_mix(label, op, inputs[mixed]);
    WHET_TRY(inputs[mixed], padded_by(label, inputs[mixed], std::move(*neutral)));
  }
  Counted counted;
  for (const auto& [d, dimension] : found.dimensions) {
    ValueId count = dimension.count;
    if (dimension.factor != 1) {
      const ValueId factor =
          add_made(unique_value_name(label + "/of_each"), Tensor::of<std::int64_t>(DType::i64, {}, {dimension.factor}));
      WHET_TRY(count, add_step(label, "count", BinaryOperator{BinaryKind::mul}, {count, factor}));
    }
    if (dimension.most) {
      WHET_TRY(count, at_most(label, count, *dimension.most));
    }
    counted.emplace(d, count);
  }
  return counted;
}

bool GrowingGraph::counts_along(const std::vector<ValueId>& inputs, const std::vector<std::int64_t>& axes) const {
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](std::int64_t axis) { return counted(id).contains(static_cast<std::size_t>(axis)); });
  });
}

Result<ValueId> GrowingGraph::number_along(const std::string& label, ValueId id, std::int64_t axis) {
  const auto d = static_cast<std::size_t>(axis);
  if (const auto found = counted(id).find(d); found != counted(id).end()) return found->second;
  const std::int64_t extent = graph.value(id).type.shape[d];
  return add_made(unique_value_name(label + "/extent"), Tensor::of<std::int64_t>(DType::i64, {}, {extent}));
}

Result<GrowingGraph::Step> GrowingGraph::add_mean(const std::string& label, const std::string& node_name,
                                                  const std::string& value_name, const ReduceOperator& op,
                                                  std::vector<ValueId> inputs) {
  ValueId x = inputs[0];
  const DType dtype = graph.value(x).type.dtype;
  if (is_half(dtype)) {  // whose sums lie beyond its numbers, or have more digits
    WHET_TRY(x, add_step(label, "wide", CastOperator{DType::f32}, {x}));
  }
  WHET_TRY(ValueId number, number_along(label, x, op.axes[0]));
  for (std::size_t i = 1; i < op.axes.size(); ++i) {
    WHET_TRY(const ValueId other, number_along(label, x, op.axes[i]));
    WHET_TRY(number, add_step(label, "number", BinaryOperator{BinaryKind::mul}, {number, other}));
  }
  WHET_TRY(number, add_step(label, "divisor", CastOperator{graph.value(x).type.dtype}, {number}));
  WHET_TRY(const ValueId sum, add_step(label, "sum", ReduceOperator{ReduceKind::sum, op.axes, op.keep_dims}, {x}));
  const BinaryOperator mean{BinaryKind::div};
  if (!is_half(dtype)) return add(label, node_name, value_name, mean, {sum, number});
  WHET_TRY(const ValueId wide, add_step(label, "mean", mean, {sum, number}));
  return add(label, node_name, value_name, CastOperator{dtype}, {wide});
}

Result<ValueId> GrowingGraph::add_whole(const std::string& label, const ConcatOperator& op,
                                        const std::vector<ValueId>& inputs) {
  std::map<std::int32_t, Counted> before;
  for (ValueId id : inputs) before.emplace(id.value, counted(id));
  for (ValueId id : inputs) {
    Counted others = before.at(id.value);
    others.erase(static_cast<std::size_t>(op.axis));
    set_counted(id, std::move(others));
  }
  Result<ValueId> whole = add_step(label, "whole", op, inputs);
  for (auto& [id, dimensions] : before) set_counted(ValueId(id), std::move(dimensions));
  return whole;
}

Result<GrowingGraph::Step> GrowingGraph::add_joined(const std::string& label, const std::string& node_name,
                                                    const std::string& value_name, const ConcatOperator& op,
                                                    std::vector<ValueId> inputs) {
  const auto axis = static_cast<std::size_t>(op.axis);
  WHET_TRY(const ValueId whole, add_whole(label, op, inputs));
  const auto number = [](std::int64_t value) { return Tensor::of<std::int64_t>(DType::i64, {}, {value}); };
  const std::int64_t extent = graph.value(whole).type.shape[axis];
  const ValueId places = add_made(unique_value_name(label + "/places"), numbered({extent}));
  const ValueId zero = add_made(unique_value_name(label + "/zero"), number(0));
  ValueId source = places, end = zero;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = inputs[i];
    WHET_TRY(const ValueId results, number_along(label, id, op.axis));
    WHET_TRY(end, add_step(label, "number", BinaryOperator{BinaryKind::add}, {end, results}));
    if (i + 1 == inputs.size() || !counted(id).contains(axis)) continue;
    const ValueId all = add_made(unique_value_name(label + "/extent"), number(graph.value(id).type.shape[axis]));
    WHET_TRY(const ValueId padding, add_step(label, "padding", BinaryOperator{BinaryKind::sub}, {all, results}));
    WHET_TRY(const ValueId inside, add_step(label, "inside", BinaryOperator{BinaryKind::less}, {places, end}));
    WHET_TRY(const ValueId skipped, add_step(label, "skipped", WhereOperator{}, {inside, zero, padding}));
    WHET_TRY(source, add_step(label, "source", BinaryOperator{BinaryKind::add}, {source, skipped}));
  }
  // A gather clamps: behind all results are places behind the whole.
  WHET_TRY(const Step joined, add(label, node_name, value_name, GatherOperator{op.axis}, {whole, source}));
  Counted result = counted(whole);
  result[axis] = end;
  set_counted(joined.value, std::move(result));
  return joined;
}

Result<ValueId> GrowingGraph::places_in_room(const std::string& label, const Operator& op,
                                             const std::vector<ValueId>& inputs) {
  const auto* elements = std::get_if<ScatterElementsOperator>(&op);
  const Shape shape = graph.value(inputs[0]).type.shape;
  ValueId places = inputs[1];
  const TensorType type = graph.value(places).type;
  const std::size_t rank = elements != nullptr ? type.shape.size() : type.shape.size() - 1;  // of places
  Counted numbers = counted(places);
  for (const auto& [d, count] : counted(inputs[2])) numbers.emplace(d, count);
  if (numbers.rbegin()->first >= rank) return would_mix(label, op, inputs[counted(places).empty() ? 2 : 1]);
  // An entry of the places names one dimension of x, or a row of them several.
  const std::int64_t named = elements != nullptr ? 1 : type.shape.back();
  Tensor extents(type.dtype, elements != nullptr ? Shape{} : Shape{named}), behind(type.dtype, extents.shape());
  for (std::int64_t i = 0; i < named; ++i)
    extents.set_integer(i, shape[static_cast<std::size_t>(elements != nullptr ? elements->axis : i)]);
  behind.set_integer(0, extents.integer(0));
  const ValueId zero = add_made(unique_value_name(label + "/zero"), Tensor(type.dtype, {}));
  const ValueId extent = add_made(unique_value_name(label + "/extents"), std::move(extents));
  WHET_TRY(const ValueId negative, add_step(label, "from_end", BinaryOperator{BinaryKind::less}, {places, zero}));
  WHET_TRY(const ValueId counted_on, add_step(label, "from_start", BinaryOperator{BinaryKind::add}, {places, extent}));
  WHET_TRY(places, add_step(label, "place", WhereOperator{}, {negative, counted_on, places}));
  set_counted(places, std::move(numbers));
  return padded_by(label, places, std::move(behind));
}

Result<GrowingGraph::Step> GrowingGraph::add_scattered(const std::string& label, const std::string& node_name,
                                                       const std::string& value_name, const Operator& op,
                                                       std::vector<ValueId> inputs) {
  const auto* elements = std::get_if<ScatterElementsOperator>(&op);
  const Shape shape = graph.value(inputs[0]).type.shape, none(shape.size(), 0), ones(shape.size(), 1);
  WHET_TRY(inputs[1], places_in_room(label, op, inputs));
  PadOperator room{PadMode::constant, 0, none, none};
  room.end[static_cast<std::size_t>(elements != nullptr ? elements->axis : 0)] = 1;
  WHET_TRY(inputs[0], add_step(label, "room", room, {inputs[0]}));
  const Counted numbers = counted(inputs[2]);
  set_counted(inputs[2], {});
  const Result<ValueId> scattered = add_step(label, "scattered", op, inputs);
  set_counted(inputs[2], numbers);
  if (!scattered.ok()) return scattered.error();
  return add(label, node_name, value_name, SliceOperator{none, ones, shape}, {*scattered});
}

}  // namespace whet
