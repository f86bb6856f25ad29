#include "compiler/assemble.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/barriers.h"
#include "compiler/memory_plan.h"
#include "compute/dag.h"

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
  bool waits = false;  ///< its workers for one another
};

std::vector<TaskFacts> facts_of(const std::vector<Task>& tasks, const std::vector<CompiledTask>& compiled) {
  std::vector<TaskFacts> facts;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    facts.push_back({flops(tasks[t].dag), bytes(tasks[t].dag), has_barrier(compiled[t].lowered.program)});
  return facts;
}

/// Where every value lies. A value that is computed gets a buffer number until the arena is planned.
class Assembler {
 public:
  Assembler(const FusedGraph& fused, const InPlace& in_place, const std::vector<int>& task_of,
            const std::vector<Task>& tasks, const std::vector<CompiledTask>& compiled,
            const std::vector<std::vector<Tensor>>& packed, WeightTable& weights)
      : fused_(fused),
        in_place_(in_place),
        task_(task_of),
        tasks_(tasks),
        compiled_(compiled),
        packed_(packed),
        facts_(facts_of(tasks, compiled)),
        weights_(weights) {}

  Result<AssembledModel> run() {
    WHET_RETURN_IF_ERROR(find_aliases());
    place_inputs_and_outputs();
    for (std::size_t g = 0; g < fused_.groups.size(); ++g)
      if (!in_place_.done[g]) WHET_RETURN_IF_ERROR(add_group(g));
    add_output_copies();
    place_arena();
    place_barriers(plan().steps, model_.written);
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
    }
    return ok_status();
  }

  std::size_t root(ValueId value) const { return root_[value.index()]; }
  /// Whether the value is all of what its root holds.
  bool is_whole(ValueId value) const {
    return bytes_of(graph().value(value).type) == bytes_of(graph().values[root(value)].type);
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
        buffers_.push_back({bytes_of(graph().values[value].type), step_number(), step_number()});
        break;
      case Home::Kind::arena:
        break;
    }
    buffers_[home.index].last = step_number();
    // The index holds the buffer's number until place_arena.
    return {PlanPlace::arena, static_cast<std::uint32_t>(home.index), offset, bytes};
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
          step.arguments.push_back(argument(group.inputs[index]));
          break;
        case KernelArgument::Kind::output:
          step.arguments.push_back(argument(group.outputs[index]));
          break;
        case KernelArgument::Kind::sizes:
          return Error{task.name + ": its kernel has sizes, and the model is of one size"};
        case KernelArgument::Kind::packed: {
          const Tensor& tensor = packed_[g][index];
          step.arguments.push_back(
              {PlanPlace::weights, 0, weights_.add(tensor), static_cast<std::uint64_t>(tensor.bytes())});
          break;
        }
      }
      const bool part = a.kind == KernelArgument::Kind::output && in_place_.parts.contains(group.outputs[index]);
      if (!part && step.arguments.back().bytes != bytes_of(a.type)) {
        return Error{task.name + ": argument " + std::to_string(written.size()) + " of its kernel is " +
                     to_string(a.type) + "; the graph has " + std::to_string(step.arguments.back().bytes) +
                     " bytes for it"};
      }
      written.push_back(a.kind == KernelArgument::Kind::output);
      writes_part = writes_part || part;
    }
    describe(group, task, compiled, step);
    if (step.workspace_bytes > 0) {
      step.workspace_offset = buffers_.size();
      buffers_.push_back({step.workspace_bytes, step_number(), step_number()});
    }
    add(std::move(step), std::move(written), writes_part);
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
    for (NodeId node : group.nodes) step.node += (step.node.empty() ? "" : "+") + graph().node(node).name;
  }

  void add(ModelPlan::Step step, std::vector<bool> written, bool part) {
    plan().steps.push_back(std::move(step));
    model_.written.push_back(std::move(written));
    model_.part.push_back(part);
  }

  /// Outputs that no kernel writes: inputs, constants, and values that are another output already.
  void add_output_copies() {
    for (std::size_t i = 0; i < graph().outputs.size(); ++i) {
      const Home home = homes_[root(graph().outputs[i])];
      if (home.kind == Home::Kind::output && home.index == i && is_whole(graph().outputs[i])) continue;
      ModelPlan::Step step;
      step.kind = PlanStepKind::copy;
      const PlanArgument from = argument(graph().outputs[i]);
      step.arguments = {from, {PlanPlace::output, static_cast<std::uint32_t>(i), 0, from.bytes}};
      step.parallel = from.bytes >= kParallelCopyBytes;
      step.bytes = 2.0 * static_cast<double>(from.bytes);
      step.node = graph().value(graph().outputs[i]).name;
      step.op = "copy";
      add(std::move(step), {false, true}, false);
    }
  }

  void place_arena() {
    const ArenaPlan arena = plan_arena(buffers_);
    for (ModelPlan::Step& step : plan().steps) {
      for (PlanArgument& a : step.arguments) {
        if (a.place == PlanPlace::arena) a.offset += arena.offsets[std::exchange(a.index, 0)];
      }
      if (step.workspace_bytes > 0) step.workspace_offset = arena.offsets[step.workspace_offset];
    }
    plan().arena_bytes = arena.bytes;
    model_.peak_activation_bytes = peak_bytes(buffers_);
  }

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

std::string stored_plan(const AssembledLibrary& library) {
  SizedModelPlan plan{library.sizes, {}, static_cast<std::uint32_t>(library.usual)};
  for (const AssembledModel& variant : library.variants) plan.variants.push_back(variant.plan);
  return write_sized_plan(plan);
}

}  // namespace whet
