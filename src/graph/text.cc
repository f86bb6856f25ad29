#include <cmath>
#include <sstream>

#include "graph/graph.h"

namespace whet {
namespace {

using Extents = std::vector<std::int64_t>;

/// Collects ` key=value` for what differs from the plain case.
struct AttributeText {
  std::string text;

  void add(const char* key, const std::string& value) { text += std::string(" ") + key + "=" + value; }
  void add(const char* key, std::int64_t value) { add(key, std::to_string(value)); }
  void add(const char* key, double value) {
    std::ostringstream out;
    out.precision(7);  // attributes of files are single precision
    out << value;
    add(key, out.str());
  }
  void add(const char* key, const std::vector<double>& values) {
    std::ostringstream out;
    out.precision(7);
    for (std::size_t i = 0; i < values.size(); ++i) out << (i > 0 ? "," : "") << values[i];
    add(key, "[" + out.str() + "]");
  }
  void add(const char* key, const Extents& values) {
    std::string joined;
    for (std::int64_t v : values) joined += (joined.empty() ? "" : ",") + std::to_string(v);
    add(key, "[" + joined + "]");
  }
  void add_unless(const char* key, const Extents& values, std::int64_t usual) {
    for (std::int64_t v : values) {
      if (v != usual) return add(key, values);
    }
  }
  void flag(const char* key, bool on) {
    if (on) text += std::string(" ") + key;
  }
  void layout(Layout layout) {
    flag("channels_last", layout == Layout::channels_last);
    flag("channels_blocked", layout == Layout::channels_blocked);
  }

  template <typename Window>
  void window(const Window& o) {
    add_unless("strides", o.strides, 1);
    add_unless("dilations", o.dilations, 1);
    if (o.pads_begin == o.pads_end) {
      add_unless("pads", o.pads_begin, 0);
    } else {
      add("pads_begin", o.pads_begin);
      add("pads_end", o.pads_end);
    }
  }

  void operator()(const UnaryOperator&) {}
  void operator()(const WhereOperator&) {}
  void operator()(const BinaryOperator&) {}
  void operator()(const ClipOperator& o) {
    if (!std::isinf(o.low)) add("low", o.low);
    if (!std::isinf(o.high)) add("high", o.high);
  }
  void operator()(const HardSigmoidOperator& o) {
    add("alpha", o.alpha);
    add("beta", o.beta);
  }
  void operator()(const LeakyReluOperator& o) { add("alpha", o.alpha); }
  void operator()(const CastOperator& o) { add("to", std::string(name_of(o.to))); }
  void operator()(const ConvOperator& o) {
    window(o);
    if (o.groups != 1) add("groups", o.groups);
    layout(o.layout);
    if (o.block != 0) add("block", o.block);
    flag("wide", o.wide);
  }
  void operator()(const MatMulOperator& o) {
    flag("transpose_a", o.transpose_a);
    flag("transpose_b", o.transpose_b);
    flag("wide", o.wide);
  }
  void operator()(const PoolOperator& o) {
    add("kernel", o.kernel);
    window(o);
    flag("count_include_pad", o.count_include_pad);
    layout(o.layout);
  }
  void operator()(const ReduceOperator& o) {
    add("axes", o.axes);
    flag("drop_dims", !o.keep_dims);
  }
  void operator()(const SoftmaxOperator& o) {
    add("axis", o.axis);
    flag("rounds", o.rounds == DType::f16);
    if (o.rounds && o.rounds != DType::f16) add("rounds", std::string(name_of(*o.rounds)));
  }
  void operator()(const BatchNormOperator& o) {
    add("epsilon", o.epsilon);
    layout(o.layout);
  }
  void operator()(const TransposeOperator& o) { add("perm", o.perm); }
  void operator()(const ReshapeOperator&) {}  // the result's type says it
  void operator()(const ConcatOperator& o) { add("axis", o.axis); }
  void operator()(const SliceOperator& o) {
    add("starts", o.starts);
    add_unless("steps", o.steps, 1);
  }
  void operator()(const PadOperator& o) {
    static constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
    if (o.mode != PadMode::constant) add("mode", std::string(kModes[static_cast<int>(o.mode)]));
    if (o.value != 0) add("value", o.value);
    add("begin", o.begin);
    add("end", o.end);
  }
  void operator()(const GatherOperator& o) { add("axis", o.axis); }
  void operator()(const ExpandOperator&) {}
  void operator()(const ResizeOperator& o) {
    static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
    static constexpr const char* kCoordinates[] = {"half_pixel",         "asymmetric",           "align_corners",
                                                   "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn",
                                                   "tf_crop_and_resize"};
    static constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    add("mode", std::string(kModes[static_cast<int>(o.mode)]));
    add("coordinates", std::string(kCoordinates[static_cast<int>(o.coordinates)]));
    if (o.mode == ResizeMode::nearest) add("nearest", std::string(kNearest[static_cast<int>(o.nearest)]));
    if (o.mode == ResizeMode::cubic) add("cubic_a", o.cubic_a);
    flag("exclude_outside", o.exclude_outside);
    if (o.coordinates == CoordinateMode::tf_crop_and_resize) {
      add("roi_begin", o.roi_begin);
      add("roi_end", o.roi_end);
      add("extrapolation", o.extrapolation);
    }
  }
  void operator()(const GatherElementsOperator& o) { add("axis", o.axis); }
  void operator()(const GatherNdOperator& o) {
    if (o.batch_dims != 0) add("batch_dims", o.batch_dims);
  }
  void operator()(const ScatterElementsOperator& o) {
    add("axis", o.axis);
    scatter(o.kind);
  }
  void operator()(const ScatterNdOperator& o) { scatter(o.kind); }
  void operator()(const ArgReduceOperator& o) {
    add("axis", o.axis);
    flag("drop_dims", !o.keep_dims);
    flag("last", o.last);
  }
  void operator()(const TopKOperator& o) {
    add("axis", o.axis);
    add("k", o.k);
    flag("smallest", !o.largest);
  }
  void operator()(const CustomOperator&) {}  // the name says it
  void operator()(const CumSumOperator& o) {
    add("axis", o.axis);
    flag("exclusive", o.exclusive);
    flag("reverse", o.reverse);
  }

  void scatter(ScatterKind kind) {
    static constexpr const char* kKinds[] = {"replace", "add", "mul", "max", "min"};
    if (kind != ScatterKind::replace) add("reduction", std::string(kKinds[static_cast<int>(kind)]));
  }
};

std::string node_text(const Graph& graph, const Node& node) {
  const Value& result = graph.value(node.output);
  std::string arguments;
  for (ValueId id : node.inputs) arguments += (arguments.empty() ? "" : ", ") + graph.value(id).name;
  AttributeText attributes;
  std::visit(attributes, node.op);
  std::string line = result.name + ": " + to_string(result.type) + " = " + name_of(node.op) + "(" + arguments + ")";
  line += attributes.text;
  return node.name == result.name ? line : line + "  # " + node.name;
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text = "graph " + graph.name + "\n";
  for (ValueId id : graph.inputs) {
    text += "input " + graph.value(id).name + ": " + to_string(graph.value(id).type) + "\n";
  }
  for (const Value& value : graph.values) {
    if (value.constant) text += "constant " + value.name + ": " + to_string(value.type) + "\n";
  }
  for (const Node& node : graph.nodes) text += node_text(graph, node) + "\n";
  for (ValueId id : graph.outputs) text += "output " + graph.value(id).name + "\n";
  return text;
}

}  // namespace whet
