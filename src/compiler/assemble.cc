#include "compiler/assemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/barriers.h"
#include "compiler/memory_plan.h"
#include "compiler/plan_numbers.h"
#include "compute/affine.h"
#include "compute/count.h"
#include "compute/dag.h"
#include "ranges/numbers.h"
#include "target/precision.h"

namespace whet {
namespace {

/// Copies smaller than this are not worth the other workers' while.
constexpr std::uint64_t kParallelCopyBytes = 1 << 16;

std::uint64_t bytes_of(const TensorType& type) {
  return static_cast<std::uint64_t>(num_elements(type.shape) * size_of(type.dtype));
}

ModelPlan::Tensor described(const Value& value) {
  return {value.name, static_cast<std::uint32_t>(value.type.dtype), value.type.shape, bytes_of(value.type)};
}

/// Whether workers that run the program wait for each other.
bool has_barrier(const Program& program) {
  bool found = false;
  for_each(program.body, [&](const Stmt& s) { found = found || std::holds_alternative<Barrier>(s->kind); }, nullptr);
  return found;
}

/// What the steps of a task have in common. A network of many steps has few tasks.
struct TaskFacts {
  double flops = 0, bytes = 0;
  bool waits = false;                   ///< its workers for one another
  Expr changing_flops, changing_bytes;  ///< of a DAG with sizes, as functions of these
};

std::vector<TaskFacts> facts_of(const std::vector<Task>& tasks, const std::vector<CompiledTask>& compiled) {
  std::vector<TaskFacts> facts;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const ComputeDag& dag = tasks[t].dag;
    facts.push_back({flops(dag), bytes(dag), has_barrier(compiled[t].lowered.program), {}, {}});
    if (is_sized(dag))
      facts.back().changing_flops = flops_of_sizes(dag), facts.back().changing_bytes = bytes_of_sizes(dag);
  }
  return facts;
}

/// What an argument of a task's kernel is, at the sizes that its DAG is at.
TensorType type_of(const Task& task, const KernelArgument& argument) {
  if (!is_sized(task.dag) || argument.kind == KernelArgument::Kind::packed) return argument.type;
  if (argument.kind == KernelArgument::Kind::output) {
    const Op& op = task.dag.op(task.dag.outputs[static_cast<std::size_t>(argument.index)]);
    return {op.dtype, op.shape};
  }
  int placeholder = argument.index;
  for (const Op& op : task.dag.ops)
    if (op.is_placeholder() && placeholder-- == 0) return {op.dtype, op.shape};
  return argument.type;
}

/// What changes in a network with the sizes, of which everything is a function.
class Changes {
 public:
  Changes(const Variant& variant, const std::vector<SizeRange>& sizes) : variant_(variant), sizes_(sizes) {
    for (const SizedTask& task : variant.tasks)
      for (const int group : task.task.groups) own_[static_cast<std::size_t>(group)] = task.sizes;
  }

  /// The most bytes of each value that changes and is stored: those between the operators of a group are not.
  Status find_most() {
    std::set<ValueId> inside;
    for (const Group& group : variant_.fused.groups)
      for (const NodeId node : group.nodes) inside.insert(variant_.fused.graph.node(node).output);
    for (const Group& group : variant_.fused.groups)
      for (const ValueId output : group.outputs) inside.erase(output);
    for (const auto& [id, shape] : variant_.shapes) {
      if (inside.contains(id)) continue;
      const auto most = most_of(bytes(id), sizes_, variant_.boxes);
      if (!most) return Error{"value \"" + value(id).name + "\" has no bound over all sizes", ErrorKind::unsupported};
      most_[id] = static_cast<std::uint64_t>(*most);
    }
    return ok_status();
  }

  /// Bytes of a value; undefined where they never change.
  Expr bytes(ValueId id) const {
    const auto shape = variant_.shapes.find(id);
    if (shape == variant_.shapes.end()) return {};
    Expr bytes = int_const(size_of(value(id).type.dtype));
    for (std::size_t d = 0; d < shape->second.size(); ++d)
      bytes = bytes * (shape->second[d].defined() ? shape->second[d] : int_const(value(id).type.shape[d]));
    return simplify(bytes, size_ranges(sizes_));
  }
  std::uint64_t most_bytes(ValueId id) const {
    const auto most = most_.find(id);
    return most == most_.end() ? bytes_of(value(id).type) : most->second;
  }
  /// Whether two values have as many bytes at all sizes.
  bool as_long(ValueId a, ValueId b) const {
    const Expr of_a = bytes(a), of_b = bytes(b);
    if (!of_a.defined() || !of_b.defined()) return of_a.defined() == of_b.defined();
    return is_const(simplify(of_a - of_b, size_ranges(sizes_)), 0);
  }
  /// Extent `d`; undefined where it never changes.
  Expr extent(ValueId id, std::size_t d) const {
    const auto shape = variant_.shapes.find(id);
    return shape == variant_.shapes.end() ? Expr() : shape->second[d];
  }
  /// Where an alias begins in its input; undefined where that never changes.
  Expr offset(ValueId id) const {
    const auto offset = variant_.offsets.find(id);
    return offset == variant_.offsets.end() ? Expr() : offset->second;
  }
  /// The sizes of a group's task.
  const std::vector<Expr>& own_sizes(std::size_t group) const { return own_.at(group); }
  /// A function of these as one of the network's.
  Expr of_network(std::size_t group, const Expr& function) const {
    const std::vector<Expr>& own = own_sizes(group);
    return substitute(function, [&](VarId v) { return size_number(v) < own.size() ? own[size_number(v)] : Expr(); });
  }
  std::int64_t value_now(const Expr& function) const { return value_at(function, variant_.at); }

  /// A constant is stored as it is at the largest sizes: at all it has to be what that begins with.
  ///   whole  kernels read it in any order, by the places that its elements have at the largest sizes
  Status check_constant(ValueId id, bool whole) const {
    const auto shape = variant_.shapes.find(id);
    if (shape == variant_.shapes.end()) return ok_status();
    if (const auto window = variant_.windows.find(id); window != variant_.windows.end())
      for (const Expr& begin : window->second.begin)
        if (begin.defined())
          return Error{"constant \"" + value(id).name + "\" is read from another place at each size",
                       ErrorKind::unsupported};
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < shape->second.size(); ++d) {
      if (shape->second[d].defined() && rows > 1 && !whole)
        return Error{"constant \"" + value(id).name + "\" has rows of another length at each size",
                     ErrorKind::unsupported};
      rows *= value(id).type.shape[d];
    }
    return ok_status();
  }

 private:
  const Value& value(ValueId id) const { return variant_.fused.graph.value(id); }

  const Variant& variant_;
  const std::vector<SizeRange>& sizes_;
  std::map<std::size_t, std::vector<Expr>> own_;  ///< by group
  std::map<ValueId, std::uint64_t> most_;
};

/// The concatenations that the variant has no task for.
Result<InPlace> in_place_of(const Variant& variant) {
  const FusedGraph& fused = variant.fused;
  std::vector<bool> has_task(fused.groups.size(), false);
  for (const SizedTask& task : variant.tasks)
    for (const int group : task.task.groups) has_task[static_cast<std::size_t>(group)] = true;
  if (std::ranges::find(has_task, false) == has_task.end())
    return InPlace{{}, std::vector<bool>(fused.groups.size(), false)};
  WHET_TRY(InPlace found, parts_in_place(fused));
  for (std::size_t g = 0; g < has_task.size(); ++g) {
    WHET_CHECK(has_task[g] || found.done[g], "a group has a task or is written in place");
    if (!has_task[g] || !found.done[g]) continue;
    found.done[g] = false;
    for (const ValueId part : fused.graph.node(fused.groups[g].nodes.front()).inputs) found.parts.erase(part);
  }
  return found;
}

/// An argument's offset and bytes as functions; undefined where they never change.
struct ChangingArgument {
  Expr offset, bytes;
};
/// What a step takes, likewise.
struct ChangingWork {
  Expr flops, bytes;
};

/// Where every value lies. A value that is computed gets a buffer number until the arena is planned.
class Assembler {
 public:
  /// `changes` is null for one size.
  Assembler(const FusedGraph& fused, const InPlace& in_place, const std::vector<int>& task_of,
            const std::vector<Task>& tasks, const std::vector<CompiledTask>& compiled,
            const std::vector<std::vector<Tensor>>& packed, WeightTable& weights, Changes* changes = nullptr)
      : fused_(fused),
        in_place_(in_place),
        task_(task_of),
        tasks_(tasks),
        compiled_(compiled),
        packed_(packed),
        facts_(facts_of(tasks, compiled)),
        weights_(weights),
        changes_(changes) {}

  Result<AssembledModel> run() {
    if (changes_ != nullptr) WHET_RETURN_IF_ERROR(changes_->find_most());
    WHET_RETURN_IF_ERROR(find_aliases());
    place_inputs_and_outputs();
    for (std::size_t g = 0; g < fused_.groups.size(); ++g)
      if (!in_place_.done[g]) WHET_RETURN_IF_ERROR(add_group(g));
    WHET_RETURN_IF_ERROR(add_output_copies());
    place_arena();
    if (changes_ != nullptr) WHET_RETURN_IF_ERROR(write_functions());
    return std::move(model_);
  }

 private:
  struct Home {
    enum class Kind { none, input, output, arena, constant } kind = Kind::none;
    std::size_t index = 0;  ///< of the input, the output or the buffer
  };

  ModelPlan& plan() { return model_.plan; }
  const Graph& graph() const { return fused_.graph; }
  int step_number() const { return static_cast<int>(model_.plan.steps.size()); }

  /// A node in no group is an alias: its output is some of the bytes of its input.
  Status find_aliases() {
    std::vector<bool> grouped(graph().nodes.size(), false);
    for (const Group& group : fused_.groups) {
      for (NodeId node : group.nodes) grouped[node.index()] = true;
    }
    root_.resize(graph().values.size());
    offset_.resize(graph().values.size(), 0);
    changing_offset_.resize(graph().values.size());
    for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = v;
    for (std::size_t n = 0; n < graph().nodes.size(); ++n) {
      const Node& node = graph().nodes[n];
      if (grouped[n]) continue;
      const Value& from = graph().value(node.inputs[0]);
      const Value& to = graph().value(node.output);
      const auto offset = alias_offset(graph(), node);
      if (!offset) {
        return Error{node.name + ": is in no group and turns " + to_string(from.type) + " into " + to_string(to.type) +
                     "; only aliases may be alone"};
      }
      root_[node.output.index()] = root_[node.inputs[0].index()];
      offset_[node.output.index()] = offset_[node.inputs[0].index()] + *offset;
      if (changes_ != nullptr) WHET_RETURN_IF_ERROR(add_changing_alias(node, *offset));
    }
    return ok_status();
  }

  Status add_changing_alias(const Node& node, std::uint64_t offset) {
    const ValueId from = node.inputs[0];
    if (graph().value(from).constant) WHET_RETURN_IF_ERROR(changes_->check_constant(from, false));
    const Expr own = changes_->offset(node.output), before = changing_offset_[from.index()];
    if (!own.defined() && !before.defined()) return ok_status();
    const auto constant = [](std::uint64_t bytes) { return int_const(static_cast<std::int64_t>(bytes)); };
    changing_offset_[node.output.index()] =
        (before.defined() ? before : constant(offset_[from.index()])) + (own.defined() ? own : constant(offset));
    return ok_status();
  }

  std::size_t root(ValueId value) const { return root_[value.index()]; }
  /// Whether the value is all of what its root holds.
  bool is_whole(ValueId value) const {
    if (changes_ != nullptr && !changes_->as_long(value, ValueId(static_cast<std::int64_t>(root(value))))) return false;
    return bytes_of(graph().value(value).type) == bytes_of(graph().values[root(value)].type);
  }
  std::uint64_t most_bytes(std::size_t value) const {
    if (changes_ != nullptr) return changes_->most_bytes(ValueId(static_cast<std::int64_t>(value)));
    return bytes_of(graph().values[value].type);
  }

  void place_inputs_and_outputs() {
    homes_.resize(graph().values.size());
    for (std::size_t v = 0; v < homes_.size(); ++v) {
      if (graph().values[v].constant) homes_[v] = {Home::Kind::constant, v};
    }
    for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
      homes_[graph().inputs[i].index()] = {Home::Kind::input, i};
      plan().inputs.push_back(described(graph().value(graph().inputs[i])));
    }
    for (std::size_t i = 0; i < graph().outputs.size(); ++i) {
      Home& home = homes_[root(graph().outputs[i])];
      if (home.kind == Home::Kind::none && is_whole(graph().outputs[i])) home = {Home::Kind::output, i};
      plan().outputs.push_back(described(graph().value(graph().outputs[i])));
    }
  }

  /// The argument that reads or writes `value` in the step being made.
  PlanArgument argument(ValueId id) {
    if (const auto part = in_place_.parts.find(id); part != in_place_.parts.end()) {
      // Its rows lie between those of the other parts: the range goes on to the end of the whole.
      PlanArgument whole = argument(part->second.whole);
      whole.offset += part->second.offset;
      whole.bytes -= part->second.offset;
      return whole;
    }
    const std::size_t value = root(id);
    const std::uint64_t bytes = bytes_of(graph().value(id).type), offset = offset_[id.index()];
    Home& home = homes_[value];
    switch (home.kind) {
      case Home::Kind::input:
        return {PlanPlace::input, static_cast<std::uint32_t>(home.index), offset, bytes};
      case Home::Kind::output:
        return {PlanPlace::output, static_cast<std::uint32_t>(home.index), offset, bytes};
      case Home::Kind::constant:
        return {PlanPlace::weights, 0, weights_.add(*graph().values[value].constant) + offset, bytes};
      case Home::Kind::none:
        home = {Home::Kind::arena, buffers_.size()};
        buffers_.push_back({most_bytes(value), step_number(), step_number()});
        break;
      case Home::Kind::arena:
        break;
    }
    buffers_[home.index].last = step_number();
    // The index holds the buffer's number until place_arena.
    return {PlanPlace::arena, static_cast<std::uint32_t>(home.index), offset, bytes};
  }

  /// Adds the argument that reads or writes `value` to the step being made.
  Status add_argument(ValueId value, ModelPlan::Step& step) {
    step.arguments.push_back(argument(value));
    if (changes_ == nullptr) return ok_status();
    if (const auto part = in_place_.parts.find(value); part != in_place_.parts.end())
      return add_changing_part(value, part->second);
    if (step.arguments.back().place == PlanPlace::weights) WHET_RETURN_IF_ERROR(changes_->check_constant(value, false));
    changing_.push_back({changing_offset_[value.index()], changes_->bytes(value)});
    return ok_status();
  }

  /// A part goes on to the end of the whole. A strided one begins at the same place at all sizes.
  Status add_changing_part(ValueId value, const PartOf& part) {
    const Expr own = changes_->offset(value);
    if (own.defined() && !part.shape.empty())
      return Error{"value \"" + graph().value(value).name + "\" is written to another place at each size",
                   ErrorKind::unsupported};
    const Expr offset = own.defined() ? own : int_const(static_cast<std::int64_t>(part.offset));
    const Expr whole = changes_->bytes(part.whole), begin = changing_offset_[part.whole.index()];
    ChangingArgument changing;
    if (begin.defined() || own.defined()) changing.offset = begin.defined() ? begin + offset : offset;
    if (whole.defined())
      changing.bytes = whole - offset;
    else if (own.defined())
      changing.bytes = int_const(static_cast<std::int64_t>(bytes_of(graph().value(part.whole).type))) - offset;
    changing_.push_back(std::move(changing));
    return ok_status();
  }

  /// A list of the own sizes of a group's task; equal ones are one.
  Status add_sizes(std::size_t g, const KernelArgument& argument, ModelPlan::Step& step) {
    std::vector<std::uint32_t> numbers;
    for (const Expr& size : changes_->own_sizes(g)) {
      WHET_TRY(const std::uint32_t number, numbers_.add(size));
      numbers.push_back(number);
    }
    const auto [slot, is_new] = slots_.emplace(numbers, static_cast<std::uint32_t>(slots_.size()));
    for (std::uint32_t i = 0; is_new && i < numbers.size(); ++i)
      functions().fields.push_back({PlanFieldKind::value, slot->second * kSlotValues + i, numbers[i]});
    step.arguments.push_back({PlanPlace::sizes, 0, slot->second * kSlotBytes, bytes_of(argument.type)});
    changing_.emplace_back();
    return ok_status();
  }

  Status add_group(std::size_t g) {
    const Group& group = fused_.groups[g];
    const Task& task = tasks_[static_cast<std::size_t>(task_[g])];
    const CompiledTask& compiled = compiled_[static_cast<std::size_t>(task_[g])];
    ModelPlan::Step step;
    std::vector<bool> written;
    bool writes_part = false;
    for (const KernelArgument& a : compiled.lowered.arguments) {
      const std::size_t index = static_cast<std::size_t>(a.index);
      switch (a.kind) {
        case KernelArgument::Kind::input:
          WHET_RETURN_IF_ERROR(add_argument(group.inputs[index], step));
          break;
        case KernelArgument::Kind::output:
          WHET_RETURN_IF_ERROR(add_argument(group.outputs[index], step));
          break;
        case KernelArgument::Kind::sizes:
          if (changes_ == nullptr) return Error{task.name + ": its kernel has sizes, and the model is of one size"};
          WHET_RETURN_IF_ERROR(add_sizes(g, a, step));
          break;
        case KernelArgument::Kind::packed: {
          const Tensor& tensor = packed_[g][index];
          step.arguments.push_back(
              {PlanPlace::weights, 0, weights_.add(tensor), static_cast<std::uint64_t>(tensor.bytes())});
          if (changes_ != nullptr) WHET_RETURN_IF_ERROR(add_packed(group));
          break;
        }
      }
      const bool part = a.kind == KernelArgument::Kind::output && in_place_.parts.contains(group.outputs[index]);
      const bool sizes = a.kind == KernelArgument::Kind::sizes;
      const TensorType type = sizes ? a.type : type_of(task, a);
      if (!part && step.arguments.back().bytes != bytes_of(type)) {
        return Error{task.name + ": argument " + std::to_string(written.size()) + " of its kernel is " +
                     to_string(type) + "; the graph has " + std::to_string(step.arguments.back().bytes) +
                     " bytes for it"};
      }
      written.push_back(a.kind == KernelArgument::Kind::output);
      writes_part = writes_part || part;
    }
    describe(group, task, compiled, step);
    if (changes_ != nullptr) add_work(g, facts_[step.entry]);
    if (step.workspace_bytes > 0) {
      step.workspace_offset = buffers_.size();
      buffers_.push_back({step.workspace_bytes, step_number(), step_number()});
    }
    add(std::move(step), std::move(written), writes_part);
    return ok_status();
  }

  void add_work(std::size_t g, const TaskFacts& facts) {
    work_.emplace_back();
    if (!facts.changing_flops.defined()) return;
    work_.back() = {changes_->of_network(g, facts.changing_flops), changes_->of_network(g, facts.changing_bytes)};
  }

  /// A packed constant is that of the largest sizes.
  Status add_packed(const Group& group) {
    changing_.emplace_back();
    for (const ValueId input : group.inputs)
      if (graph().value(input).constant) WHET_RETURN_IF_ERROR(changes_->check_constant(input, true));
    return ok_status();
  }

  void describe(const Group& group, const Task& task, const CompiledTask& compiled, ModelPlan::Step& step) const {
    step.entry = static_cast<std::uint32_t>(&compiled - compiled_.data());
    const TaskFacts& facts = facts_[step.entry];
    step.parallel = compiled.kernel.launches.at(0).parallel;
    step.divisible = step.parallel && !facts.waits;
    step.workspace_bytes = static_cast<std::uint64_t>(compiled.kernel.workspace);
    step.worker_bytes = static_cast<std::uint64_t>(compiled.kernel.worker_workspace);
    step.flops = facts.flops;
    step.bytes = facts.bytes;
    step.predicted_seconds = compiled.report.predicted_seconds;
    step.op = task.name;
    if (compiled.report.precision != Precision::f32) step.op += " " + std::string(name_of(compiled.report.precision));
    for (NodeId node : group.nodes) step.node += (step.node.empty() ? "" : "+") + graph().node(node).name;
  }

  void add(ModelPlan::Step step, std::vector<bool> written, bool part) {
    plan().steps.push_back(std::move(step));
    model_.written.push_back(std::move(written));
    model_.part.push_back(part);
  }

  /// Outputs that no kernel writes: inputs, constants, and values that are another output already.
  Status add_output_copies() {
    for (std::size_t i = 0; i < graph().outputs.size(); ++i) {
      const Home home = homes_[root(graph().outputs[i])];
      if (home.kind == Home::Kind::output && home.index == i && is_whole(graph().outputs[i])) continue;
      ModelPlan::Step step;
      step.kind = PlanStepKind::copy;
      WHET_RETURN_IF_ERROR(add_argument(graph().outputs[i], step));
      const PlanArgument from = step.arguments.front();
      step.arguments.push_back({PlanPlace::output, static_cast<std::uint32_t>(i), 0, from.bytes});
      if (changes_ != nullptr) add_changing_copy();
      step.parallel = from.bytes >= kParallelCopyBytes;
      step.bytes = 2.0 * static_cast<double>(from.bytes);
      step.node = graph().value(graph().outputs[i]).name;
      step.op = "copy";
      add(std::move(step), {false, true}, false);
    }
    return ok_status();
  }

  /// To an output, as many bytes as are read.
  void add_changing_copy() {
    const Expr bytes = changing_.back().bytes;
    changing_.push_back({{}, bytes});
    work_.push_back({{}, bytes.defined() ? bytes * 2 : Expr()});
  }

  void place_arena() {
    const ArenaPlan arena = plan_arena(buffers_);
    std::vector<ModelPlan::Step> widest;  // with all that they may touch
    for (ModelPlan::Step& step : plan().steps) {
      if (step.workspace_bytes > 0) step.workspace_offset = arena.offsets[step.workspace_offset];
      if (changes_ != nullptr) widest.push_back(widest_of(step, arena));
      for (PlanArgument& a : step.arguments) {
        if (a.place == PlanPlace::arena) a.offset += arena.offsets[std::exchange(a.index, 0)];
      }
    }
    plan().arena_bytes = arena.bytes;
    model_.peak_activation_bytes = peak_bytes(buffers_);
    if (changes_ == nullptr) return place_barriers(plan().steps, model_.written);
    place_barriers(widest, model_.written);
    for (std::size_t s = 0; s < widest.size(); ++s) plan().steps[s].barrier = widest[s].barrier;
  }

  /// The step with whole buffers and outputs as its arguments, whatever the sizes. Its buffers have their numbers yet.
  ModelPlan::Step widest_of(ModelPlan::Step step, const ArenaPlan& arena) const {
    constexpr std::uint64_t kEverything = std::uint64_t{1} << 62;
    for (PlanArgument& a : step.arguments) {
      if (a.place == PlanPlace::arena) {
        const std::size_t buffer = std::exchange(a.index, 0);
        a.offset = arena.offsets[buffer], a.bytes = buffers_[buffer].bytes;
      } else if (a.place == PlanPlace::output) {
        a.offset = 0, a.bytes = kEverything;
      }
    }
    return step;
  }

  Status add_function(PlanFieldKind kind, std::uint32_t index, const Expr& function) {
    if (!function.defined()) return ok_status();
    WHET_TRY(const std::uint32_t number, numbers_.add(function));
    functions().fields.push_back({kind, index, number});
    return ok_status();
  }

  /// Extents, arguments and steps in the order in which a plan is written.
  Status write_functions() {
    std::uint32_t dim = 0, at = 0;
    for (const auto* values : {&graph().inputs, &graph().outputs})
      for (const ValueId id : *values)
        for (std::size_t d = 0; d < graph().value(id).type.shape.size(); ++d)
          WHET_RETURN_IF_ERROR(add_function(PlanFieldKind::extent, dim++, changes_->extent(id, d)));
    for (const ModelPlan::Step& step : plan().steps) {
      for (const PlanArgument& a : step.arguments) {
        const ChangingArgument& changing = changing_.at(at);
        if (changing.offset.defined()) {
          // The buffer's place is the same at all sizes.
          const std::int64_t place = static_cast<std::int64_t>(a.offset) - changes_->value_now(changing.offset);
          WHET_RETURN_IF_ERROR(add_function(PlanFieldKind::offset, at, changing.offset + place));
        }
        WHET_RETURN_IF_ERROR(add_function(PlanFieldKind::bytes, at, changing.bytes));
        ++at;
      }
    }
    for (std::size_t s = 0; s < work_.size(); ++s) {
      const auto step = static_cast<std::uint32_t>(s);
      WHET_RETURN_IF_ERROR(add_function(PlanFieldKind::step_flops, step, work_[s].flops));
      WHET_RETURN_IF_ERROR(add_function(PlanFieldKind::step_bytes, step, work_[s].bytes));
    }
    functions().numbers = numbers_.take();
    functions().slots = static_cast<std::uint32_t>(slots_.size());
    return ok_status();
  }

  PlanFunctions& functions() { return model_.functions; }

  const FusedGraph& fused_;
  const InPlace& in_place_;
  const std::vector<int>& task_;
  const std::vector<Task>& tasks_;
  const std::vector<CompiledTask>& compiled_;
  const std::vector<std::vector<Tensor>>& packed_;
  const std::vector<TaskFacts> facts_;  ///< by task
  WeightTable& weights_;
  AssembledModel model_;
  std::vector<std::size_t> root_;      ///< the value whose bytes each value has
  std::vector<std::uint64_t> offset_;  ///< of each value's first byte behind its root's
  std::vector<Home> homes_;            ///< of roots
  std::vector<ArenaBuffer> buffers_;

  Changes* changes_;
  std::vector<Expr> changing_offset_;       ///< `offset_` as functions; undefined where it never changes
  std::vector<ChangingArgument> changing_;  ///< of all steps' arguments, in order
  std::vector<ChangingWork> work_;          ///< of all steps
  PlanNumbers numbers_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> slots_;  ///< lists of own sizes, by their numbers
};

}  // namespace

std::vector<int> task_of_group(const FusedGraph& fused, const std::vector<Task>& tasks) {
  std::vector<int> task_of(fused.groups.size(), -1);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (int g : tasks[t].groups) task_of[static_cast<std::size_t>(g)] = static_cast<int>(t);
  }
  return task_of;
}

Result<AssembledModel> assemble(const FusedGraph& fused, const InPlace& in_place, const std::vector<int>& task_of,
                                const std::vector<Task>& tasks, const std::vector<CompiledTask>& compiled,
                                const std::vector<std::vector<Tensor>>& packed, WeightTable& weights) {
  return Assembler(fused, in_place, task_of, tasks, compiled, packed, weights).run();
}

Result<AssembledModel> assemble(const Variant& variant, const std::vector<SizeRange>& sizes,
                                const std::vector<int>& task_of, const std::vector<Task>& tasks,
                                const std::vector<CompiledTask>& compiled,
                                const std::vector<std::vector<Tensor>>& packed, WeightTable& weights) {
  Changes changes(variant, sizes);
  WHET_TRY(const InPlace in_place, in_place_of(variant));
  return Assembler(variant.fused, in_place, task_of, tasks, compiled, packed, weights, &changes).run();
}

std::string stored_plan(const AssembledLibrary& library) {
  SizedModelPlan plan{library.sizes, {}, static_cast<std::uint32_t>(library.usual), library.boxes, {}};
  for (const AssembledModel& variant : library.variants) {
    plan.variants.push_back(variant.plan);
    plan.functions.push_back(variant.functions);
  }
  return write_sized_plan(plan);
}

}  // namespace whet
