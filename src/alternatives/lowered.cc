#include "alternatives/lowered.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alternatives/cover_builder.h"
#include "passes/operator_class.h"

namespace whet {
namespace {

ActivationLayout form_of(StoredAs stored) { return {0, 0, stored}; }

/// Grows the lowered group. Values are there in f32, in fewer bits, or both.
class Lowering {
 public:
  using Maybe = std::optional<ValueId>;
  using Answer = std::optional<LoweredGroup>;

  Lowering(const FusedGraph& fused, const Group& group, StoredAs in, StoredAs out, const StoredForms& forms)
      : graph_(fused.graph), group_(group), in_(in), out_(out), forms_(forms), builder_(fused.graph) {
    sink_.add = [this](const std::string& name, Operator op, std::vector<ValueId> inputs) {
      return builder_.compute(name, std::move(op), std::move(inputs));
    };
    sink_.constant = [this](const std::string& name, Tensor value) {
      return builder_.constant(name, std::move(value));
    };
    for (NodeId n : group.nodes) inside_.insert(graph_.node(n).output);
  }

  Result<Answer> run() {
    if (group_.outputs.size() != 1 || !is_all_f32() || !find_product() || !find_copies()) return Answer();
    const ValueId output = group_.outputs.front();
    if (out_ != StoredAs::usual && !forms_.numbers(output, out_)) return Answer();
    for (NodeId n : group_.nodes) {
      const Node& node = graph_.node(n);
      WHET_TRY(const bool done, n == product_ ? add_product(node) : add(node));
      if (!done) return Answer();
    }
    if (in_ != StoredAs::usual && !reads_lowered_) return Answer();  // the same as of f32
    WHET_TRY(const ValueId last, out_ == StoredAs::usual ? wide(output, nullptr) : lowered_result(output));
    result_.fragment = std::move(builder_).finish(last, {{output, form_of(out_)}});
    WHET_TRY(const bool one, is_one_kernel());
    return one ? Answer(std::move(result_)) : Answer();
  }

 private:
  bool is_f32(ValueId id) const { return graph_.value(id).type.dtype == DType::f32; }
  bool is_all_f32() const {
    return std::ranges::all_of(group_.inputs, [&](ValueId id) { return is_f32(id); }) &&
           std::ranges::all_of(group_.nodes, [&](NodeId n) { return is_f32(graph_.node(n).output); });
  }

  /// The group's product, and what only copies numbers on the way to it. False where there are several, or it cannot be lowered.
  bool find_product() {
    for (NodeId n : group_.nodes) {
      if (!is_product(graph_.node(n).op)) continue;
      if (product_.valid()) return false;
      product_ = n;
    }
    if (product_.valid()) find_feeding(graph_.node(product_).inputs[0]);
    if (!product_.valid() || in_ == StoredAs::usual) return true;
    if (forms_.product(graph_.node(product_), in_) == nullptr) return false;
    for (ValueId id = graph_.node(product_).inputs[0]; inside_.contains(id);) {
      const auto producer = std::ranges::find_if(group_.nodes, [&](NodeId n) { return graph_.node(n).output == id; });
      const Node& node = graph_.node(*producer);
      if (!copies_numbers(node.op) || node.inputs.size() != 1) return false;
      copied_.insert(id);
      id = node.inputs[0];
    }
    return true;
  }

  /// A group that only copies keeps the form of what it copies, or rounds it: nothing is widened by a kernel of its own. False where it
  /// would be.
  bool find_copies() {
    if (in_ == StoredAs::usual) return true;
    if (!std::ranges::all_of(group_.nodes, [&](NodeId n) { return copies_numbers(graph_.node(n).op); })) return true;
    for (NodeId n : group_.nodes) copied_.insert(graph_.node(n).output);
    return in_ == out_;
  }

  /// What the product's activation is computed from inside of the group.
  void find_feeding(ValueId value) {
    if (!inside_.contains(value) || !feeding_.insert(value).second) return;
    for (NodeId n : group_.nodes)
      if (graph_.node(n).output == value)
        for (ValueId id : graph_.node(n).inputs) find_feeding(id);
  }

  Result<bool> add_product(const Node& node) {
    if (in_ == StoredAs::usual) return add(node);
    const Maybe x = lowered_value(node.inputs[0], in_);
    if (!x) return false;
    const auto bias = [&] { return wide(node.inputs[2], &node); };
    WHET_TRY(wide_[node.output], whet::add_product(sink_, node, *forms_.product(node, in_), *x, bias));
    result_.rounds_product = in_;
    return true;
  }

  Result<bool> add(const Node& node) {
    std::vector<ValueId> inputs;
    const bool copied = copied_.contains(node.output);
    for (ValueId id : node.inputs) {
      if (copied) {
        const Maybe now = lowered_value(id, in_);
        if (!now) return false;
        inputs.push_back(*now);
        continue;
      }
      WHET_TRY(const ValueId now, wide(id, &node));
      inputs.push_back(now);
    }
    Operator op = node.op;
    if (auto* pad = std::get_if<PadOperator>(&op); pad != nullptr && copied)
      if (const auto numbers = forms_.numbers(node.output, in_)) pad->value = static_cast<double>(numbers->zero);
    WHET_TRY(const ValueId now, builder_.compute(node.name, std::move(op), std::move(inputs)));
    if (copied)
      lowered_[{node.output, in_}] = now;
    else
      wide_[node.output] = now;
    return true;
  }

  /// An activation as it is stored; nothing where the group has computed it in f32, or it cannot be stored so.
  Maybe lowered_value(ValueId id, StoredAs stored) {
    if (const auto known = lowered_.find({id, stored}); known != lowered_.end()) return known->second;
    if (inside_.contains(id) || !forms_.numbers(id, stored)) return std::nullopt;
    reads_lowered_ |= stored == in_;
    const Value& value = graph_.value(id);
    return lowered_[{id, stored}] =
               builder_.read({id, form_of(stored)}, value.name, {dtype_of(stored), value.type.shape});
  }

  /// A value in f32. What is read in fewer bits is widened once.
  Result<ValueId> wide(ValueId id, const Node* reader) {
    if (const auto known = wide_.find(id); known != wide_.end()) return known->second;
    const Value& value = graph_.value(id);
    const StoredAs stored = reader == nullptr ? StoredAs::usual : stored_for(id, *reader);
    if (!inside_.contains(id) && stored == StoredAs::usual) return wide_[id] = builder_.operand(id);
    const StoredAs from = inside_.contains(id) ? in_ : stored;  // inside of the group: copied
    if (!inside_.contains(id)) result_.rounds_reads = from;
    WHET_TRY(wide_[id], add_widening(sink_, value.name + "_wide", *lowered_value(id, from), *forms_.numbers(id, from)));
    return wide_[id];
  }

  /// How the reader reads a value: behind a product what has the result's form, in a group without one what is read at all; in a shape in
  /// which it is computed with.
  StoredAs stored_for(ValueId id, const Node& reader) const {
    const StoredAs stored = product_.valid() ? out_ : in_;
    if (!forms_.numbers(id, stored)) return StoredAs::usual;
    const bool feeds = feeding_.contains(reader.output);
    if (feeds || (product_.valid() && graph_.node(product_).output == reader.output))
      return StoredAs::usual;  // f32, as `in` says
    switch (class_of(reader.op)) {
      case OperatorClass::elementwise:
        return graph_.value(reader.output).type.shape == graph_.value(id).type.shape ? stored : StoredAs::usual;
      case OperatorClass::reduction:
      case OperatorClass::softmax:
        return reader.inputs[0] == id ? stored : StoredAs::usual;
      default:
        return StoredAs::usual;
    }
  }

  Result<ValueId> lowered_result(ValueId output) {
    if (const auto known = lowered_.find({output, out_}); known != lowered_.end()) return known->second;
    const std::string name = graph_.value(output).name + "_" + to_text(form_of(out_));
    return add_rounding(sink_, name, wide_.at(output), *forms_.numbers(output, out_));
  }

  /// Fusion makes one kernel of the fragment.
  Result<bool> is_one_kernel() const {
    const Graph& graph = result_.fragment.graph;
    WHET_TRY(const FusedGraph one, fuse(graph));
    return one.groups.size() == 1 && one.groups.front().nodes.size() == graph.nodes.size();
  }

  const Graph& graph_;
  const Group& group_;
  const StoredAs in_, out_;
  const StoredForms& forms_;
  CoverBuilder builder_;
  NodeSink sink_;  ///< of the builder
  LoweredGroup result_;
  NodeId product_;
  std::set<ValueId> inside_;  ///< results of the group's nodes
  std::set<ValueId> copied_;  ///< those that are copied as `in` says
  std::set<ValueId> feeding_;
  std::map<ValueId, ValueId> wide_;
  std::map<std::pair<ValueId, StoredAs>, ValueId> lowered_;
  bool reads_lowered_ = false;  ///< as `in` says
};

}  // namespace

Result<std::optional<LoweredGroup>> lowered(const FusedGraph& fused, const Group& group, StoredAs in, StoredAs out,
                                            const StoredForms& forms) {
  return Lowering(fused, group, in, out, forms).run();
}

Result<std::optional<Fragment>> lowered_alias(const FusedGraph& fused, const Node& node, StoredAs stored,
                                              const StoredForms& forms) {
  const ValueId id = node.inputs.front();
  const Value& from = fused.graph.value(id);
  if (!std::holds_alternative<ReshapeOperator>(node.op) || !forms.numbers(id, stored)) return std::optional<Fragment>();
  CoverBuilder builder(fused.graph);
  const ValueId read = builder.read({id, form_of(stored)}, from.name, {dtype_of(stored), from.type.shape});
  WHET_TRY(const ValueId now, builder.compute(node.name, node.op, {read}));
  Fragment fragment = std::move(builder).finish(now, {{node.output, form_of(stored)}});
  fragment.kernel.clear();
  return std::optional(std::move(fragment));
}

Result<std::optional<Fragment>> rounded_copy(const FusedGraph& fused, ValueId id, StoredAs stored,
                                             const StoredForms& forms) {
  const std::optional<StoredNumbers> numbers = forms.numbers(id, stored);
  if (!numbers) return std::optional<Fragment>();
  CoverBuilder builder(fused.graph);
  const NodeSink sink = {
      [&](const std::string& name, Operator op, std::vector<ValueId> inputs) {
        return builder.compute(name, std::move(op), std::move(inputs));
      },
      [&](const std::string& name, Tensor value) { return builder.constant(name, std::move(value)); }};
  const std::string name = fused.graph.value(id).name + "_" + to_text(form_of(stored));
  WHET_TRY(const ValueId now, add_rounding(sink, name, builder.operand(id), *numbers));
  return std::optional(std::move(builder).finish(now, {{id, form_of(stored)}}));
}

}  // namespace whet
