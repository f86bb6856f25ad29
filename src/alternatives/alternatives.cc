#include "alternatives/alternatives.h"

#include <algorithm>
#include <map>
#include <set>

#include "alternatives/chain.h"
#include "alternatives/lowered.h"
#include "alternatives/merge.h"
#include "target/products_i16.h"
#include "task/group_dag.h"

namespace whet {
namespace {

constexpr std::string_view kMerged = "merged: ", kFromMerged = "from merged: ", kChain = "chain: ";
/// Siblings read their input once, and their weights are what they were.
constexpr double kHopeOfMerged = 0.75;
/// To read some channels of a wider tensor is no faster than to read a tensor of them.
constexpr double kHopeOfReaders = 0.98;

/// Tasks by what they compute; their numbers stay.
class TaskTable {
 public:
  explicit TaskTable(std::vector<Task> usual) : tasks_(std::move(usual)) {
    for (std::size_t t = 0; t < tasks_.size(); ++t) by_key_.emplace(tasks_[t].key, t);
  }

  /// The task of a whole tensor; it is added where it is new.
  Result<int> number_of(const Fragment& fragment) {
    const FusedGraph one{fragment.graph, {group_of(fragment.graph, fragment.kernel)}};
    WHET_TRY(ComputeDag dag, group_dag(one, one.groups.front()));
    std::string key = workload_key(dag);
    for (auto [entry, end] = by_key_.equal_range(key); entry != end; ++entry) {
      const Task& known = tasks_[entry->second];
      if (known.within.empty() && same_dag(known.dag, dag)) return static_cast<int>(entry->second);
    }
    by_key_.emplace(key, tasks_.size());
    tasks_.push_back({std::move(key), name_of(one, one.groups.front()), std::move(dag)});
    tasks_.back().label = label_of(one, one.groups.front());
    return static_cast<int>(tasks_.size()) - 1;
  }
  /// The task computes what the usual one does, perhaps beside something else: the schedule of the usual one is a good beginning.
  void set_twin(int task, int usual) {
    if (task < 0 || usual < 0 || task == usual) return;
    std::string& twin = tasks_[static_cast<std::size_t>(task)].twin;
    if (twin.empty()) twin = tasks_[static_cast<std::size_t>(usual)].key;
  }
  std::vector<Task> take() { return std::move(tasks_); }

 private:
  std::vector<Task> tasks_;
  std::multimap<std::string, std::size_t> by_key_;
};

/// Parts begin on lines of the cache.
constexpr std::int64_t kLine = 64;

class Finder {
 public:
  Finder(const FusedGraph& fused, const Target& target, PlacedTasks placed, const ValueRanges& ranges)
      : fused_(fused),
        target_(target),
        stored_(fused, ranges),
        in_place_(std::move(placed.in_place)),
        table_(placed.tasks),
        readers_(fused.graph.values.size()),
        reading_(fused.graph.values.size()),
        of_group_(fused.groups.size()) {
    for (const Node& node : fused.graph.nodes)
      for (ValueId id : node.inputs) ++readers_[id.index()];
    for (ValueId id : fused.graph.outputs) ++readers_[id.index()];
    for (std::size_t g = 0; g < fused.groups.size(); ++g)
      for (ValueId id : fused.groups[g].inputs) reading_[id.index()].push_back(static_cast<int>(g));
    task_of_group_.assign(fused.groups.size(), -1);
    for (std::size_t t = 0; t < placed.tasks.size(); ++t)
      for (int g : placed.tasks[t].groups) task_of_group_[static_cast<std::size_t>(g)] = static_cast<int>(t);
  }

  Result<Alternatives> run(const AlternativeOptions& options) {
    WHET_RETURN_IF_ERROR(add_usual());
    result_.usual = result_.all.size();
    std::vector<ActivationLayout> forms = {kChannelsLast};
    forms.insert(forms.end(), options.forms.begin(), options.forms.end());
    for (std::size_t g = 0; g < fused_.groups.size(); ++g)
      for (ActivationLayout in : forms)
        for (ActivationLayout out : forms) WHET_RETURN_IF_ERROR(add_converted(g, in, out, options.padded));
    if (options.covers) WHET_RETURN_IF_ERROR(add_covers());
    if (!options.lowered.empty()) WHET_RETURN_IF_ERROR(add_all_lowered(options.lowered));
    WHET_RETURN_IF_ERROR(add_transforms());
    result_.tasks = table_.take();
    for (Alternative& a : result_.all) a.writes_parts = writes_parts(a);
    settle_in_place();
    for (Task& task : result_.tasks) task.weight = 0, task.groups.clear();
    for (const Alternative& a : result_.all)
      if (a.task >= 0) ++result_.tasks[static_cast<std::size_t>(a.task)].weight;
    return std::move(result_);
  }

 private:
  /// Groups and lone aliases, in the order of their last nodes.
  Status add_usual() {
    std::map<NodeId, std::size_t> group_at;
    std::set<NodeId> grouped;
    for (std::size_t g = 0; g < fused_.groups.size(); ++g) {
      group_at[fused_.groups[g].nodes.back()] = g;
      grouped.insert(fused_.groups[g].nodes.begin(), fused_.groups[g].nodes.end());
    }
    for (std::size_t n = 0; n < fused_.graph.nodes.size(); ++n) {
      const NodeId id(static_cast<std::int64_t>(n));
      if (const auto group = group_at.find(id); group != group_at.end()) {
        WHET_TRY(Fragment fragment, fragment_of(fused_, fused_.groups[group->second]));
        result_.all.push_back({AlternativeKind::usual, std::move(fragment), static_cast<int>(group->second),
                               task_of_group_[group->second], ""});
        result_.all.back().in_place = in_place_.done[group->second];
        of_group_[group->second].push_back(result_.all.size() - 1);
      } else if (!grouped.contains(id)) {
        WHET_TRY(Fragment fragment, fragment_of_alias(fused_, fused_.graph.node(id)));
        result_.all.push_back({AlternativeKind::alias, std::move(fragment), -1, -1, ""});
      }
    }
    return ok_status();
  }

  Status add_converted(std::size_t g, ActivationLayout in, ActivationLayout out,
                       const std::vector<ActivationLayout>& padded) {
    if (in == kChannelsLast && out == kChannelsLast) return ok_status();
    WHET_TRY(std::optional<Fragment> fragment, converted(fused_, fused_.groups[g], in, out, padded));
    if (!fragment) return ok_status();
    WHET_TRY(const int task, table_.number_of(*fragment));
    table_.set_twin(task, task_of_group_[g]);
    // Where the input has one form only, other forms give the same kernel again.
    for (std::size_t a : of_group_[g]) {
      const Alternative& other = result_.all[a];
      if (other.task == task && other.fragment.reads == fragment->reads && other.fragment.writes == fragment->writes)
        return ok_status();
    }
    const std::string name = in == out ? to_text(in) : to_text(in) + " -> " + to_text(out);
    const int group = static_cast<int>(g);
    result_.all.push_back({AlternativeKind::layout, std::move(*fragment), group, task, name, {group}});
    result_.all.back().in_place = can_be_in_place(g);
    of_group_[g].push_back(result_.all.size() - 1);
    return ok_status();
  }

  Status add_covers() {
    for (const MergedGroups& merge : find_merges(fused_)) WHET_RETURN_IF_ERROR(add_merge(merge));
    if (!target_.is_cpu()) return ok_status();  // nothing there keeps rows in a cache of its own
    for (const GroupChain& chain : find_chains(fused_)) WHET_RETURN_IF_ERROR(add_chain(chain));
    return ok_status();
  }

  /// Groups that read or write activations of these types, or read one and write another, and aliases of such.
  Status add_all_lowered(std::vector<StoredAs> types) {
    std::erase(types, StoredAs::usual);
    types.insert(types.begin(), StoredAs::usual);
    for (std::size_t g = 0; g < fused_.groups.size(); ++g)
      for (StoredAs in : types)
        for (StoredAs out : types) WHET_RETURN_IF_ERROR(add_lowered(g, in, out));
    for (std::size_t a = 0; a < result_.usual; ++a) {
      if (result_.all[a].kind != AlternativeKind::alias) continue;
      const ValueId written = result_.all[a].fragment.writes.front().value;
      const auto node = std::ranges::find(fused_.graph.nodes, written, &Node::output);
      for (StoredAs stored : types) {
        WHET_TRY(std::optional<Fragment> fragment, lowered_alias(fused_, *node, stored, stored_));
        if (!fragment) continue;
        const std::string name = to_text(fragment->writes.front().form);
        result_.all.push_back({AlternativeKind::lowered, std::move(*fragment), -1, -1, name});
      }
    }
    return ok_status();
  }

  Status add_lowered(std::size_t g, StoredAs in, StoredAs out) {
    if (in == StoredAs::usual && out == StoredAs::usual) return ok_status();
    WHET_TRY(std::optional<LoweredGroup> group, lowered(fused_, fused_.groups[g], in, out, stored_));
    if (!group) return ok_status();
    WHET_TRY(const int task, table_.number_of(group->fragment));
    if (!group->rounds_product) table_.set_twin(task, task_of_group_[g]);
    const std::string from = to_text(ActivationLayout{0, 0, in}), to = to_text(ActivationLayout{0, 0, out});
    const int number = static_cast<int>(g);
    Alternative alternative{AlternativeKind::lowered,
                            std::move(group->fragment),
                            number,
                            task,
                            in == out ? to : from + " -> " + to,
                            {number}};
    alternative.rounds_product = group->rounds_product, alternative.rounds_reads = group->rounds_reads;
    result_.all.push_back(std::move(alternative));
    return ok_status();
  }

  Status add_chain(const GroupChain& chain) {
    WHET_TRY(Fragment kernel, chained_kernel(fused_, chain));
    WHET_TRY(const int task, table_.number_of(kernel));
    const std::string name = std::string(kChain) + chain.name;
    result_.all.push_back({AlternativeKind::cover, std::move(kernel), -1, task, name, chain.groups, chain.hope});
    return ok_status();
  }

  /// The merged kernel, all that can read its tensor where it lies, and copies out of it for all others.
  Status add_merge(const MergedGroups& merge) {
    WHET_TRY(Fragment kernel, merged_kernel(fused_, merge));
    WHET_TRY(const int task, table_.number_of(kernel));
    table_.set_twin(task, task_of_group_[static_cast<std::size_t>(widest_of(merge.groups))]);
    const std::string name = std::string(kMerged) + merge.name;
    result_.all.push_back({AlternativeKind::cover, std::move(kernel), -1, task, name, merge.groups, kHopeOfMerged});
    std::set<int> readers;
    for (ValueId value : merge.values) readers.insert(reading_[value.index()].begin(), reading_[value.index()].end());
    for (int g : readers) WHET_RETURN_IF_ERROR(add_reader(g, merge));
    for (std::size_t i = 0; i < merge.values.size(); ++i) {
      WHET_TRY(Fragment slice, slice_of_merged(fused_, merge, i));
      WHET_TRY(const int copy, task_of(slice));
      result_.all.push_back({AlternativeKind::transform, std::move(slice), -1, copy, name + " -> nhwc"});
    }
    return ok_status();
  }

  /// Of siblings, the one with the most channels: its kernel is most like the merged one.
  int widest_of(const std::vector<int>& groups) const {
    return *std::ranges::max_element(groups, std::less(), [&](int g) {
      return fused_.graph.value(fused_.groups[static_cast<std::size_t>(g)].outputs.front()).type.shape.back();
    });
  }

  Status add_reader(int group, const MergedGroups& merge) {
    WHET_TRY(std::optional<Fragment> fragment, reading_merged(fused_, group, merge));
    if (!fragment) return ok_status();
    const auto g = static_cast<std::size_t>(group);
    const bool in_place = in_place_.done[g] && !fragment->kernel.empty();
    if (in_place && !takes_whole(*fragment)) return ok_status();
    WHET_TRY(const int task, task_of(*fragment));
    table_.set_twin(task, task_of_group_[g]);
    result_.all.push_back({AlternativeKind::layout,
                           std::move(*fragment),
                           group,
                           task,
                           std::string(kFromMerged) + merge.name,
                           {group},
                           kHopeOfReaders});
    result_.all.back().in_place = in_place;
    return ok_status();
  }

  /// A concatenation in place whose parts are the same tensors as before, or several of them as one.
  static bool takes_whole(const Fragment& fragment) {
    return std::none_of(fragment.graph.nodes.begin(), fragment.graph.nodes.end(),
                        [](const Node& node) { return std::holds_alternative<SliceOperator>(node.op); });
  }

  /// -1 where no kernel runs.
  Result<int> task_of(const Fragment& fragment) {
    if (fragment.kernel.empty()) return -1;
    return table_.number_of(fragment);
  }

  /// A concatenation of blocks of one picture, which lie one behind the other (task/in_place.h).
  bool can_be_in_place(std::size_t g) const {
    const Node& node = fused_.graph.node(fused_.groups[g].nodes.front());
    const TensorType& whole = fused_.graph.value(node.output).type;
    if (fused_.groups[g].nodes.size() != 1 || !std::holds_alternative<ConcatOperator>(node.op) ||
        whole.shape.front() != 1)
      return false;
    const std::int64_t bytes_of_a_channel =
        num_elements(whole.shape) / whole.shape.back() * static_cast<std::int64_t>(size_of(whole.dtype));
    std::int64_t channels = 0;
    for (ValueId id : node.inputs) {
      if (channels * bytes_of_a_channel % kLine != 0 || readers_[id.index()] != 1) return false;
      channels += fused_.graph.value(id).type.shape.back();
    }
    return true;
  }
  /// Without a kernel, where kernels can write all operands.
  void settle_in_place() {
    std::set<StoredValue> parts;
    for (const Alternative& a : result_.all)
      if (a.writes_parts && !a.in_place) parts.insert(a.fragment.writes.begin(), a.fragment.writes.end());
    for (Alternative& a : result_.all) {
      const auto& reads = a.fragment.reads;
      a.in_place = a.in_place && std::ranges::all_of(reads, [&](const StoredValue& v) { return parts.contains(v); });
      if (a.in_place) a.task = -1, a.writes_parts = false;
    }
  }

  /// The kernel itself gives the one result, in the shape in which it is stored.
  bool writes_parts(const Alternative& a) const {
    const Graph& graph = a.fragment.graph;
    const ValueId output = graph.outputs.front();
    if (a.task < 0 || std::ranges::count(graph.outputs, output) != std::ssize(graph.outputs)) return false;
    const ComputeDag& dag = result_.tasks[static_cast<std::size_t>(a.task)].dag;
    return std::ranges::any_of(a.fragment.kernel, [&](NodeId n) { return graph.node(n).output == output; }) &&
           dag.op(dag.outputs.front()).shape == graph.value(output).type.shape;
  }

  Status add_transforms() {
    std::map<ValueId, std::set<ActivationLayout>> written, read;
    for (ValueId id : fused_.graph.inputs) written[id].insert(kChannelsLast);
    for (const Alternative& a : result_.all) {
      for (const StoredValue& v : a.fragment.writes) written[v.value].insert(v.form);
      for (const StoredValue& v : a.fragment.reads) read[v.value].insert(v.form);
    }
    for (ValueId id : fused_.graph.outputs) read[id].insert(kChannelsLast);
    for (const auto& [value, forms] : written)
      for (ActivationLayout from : forms)
        for (ActivationLayout to : read[value])
          if (from == kChannelsLast && to.stored != StoredAs::usual)
            WHET_RETURN_IF_ERROR(add_rounded_copy(value, to));
          else if (from != to && from.wide == 0 && to.wide == 0 &&
                   nests(fused_.graph.value(value).type.shape, from, to))
            WHET_RETURN_IF_ERROR(add_transform_of(value, from, to));
    return ok_status();
  }

  Status add_rounded_copy(ValueId value, ActivationLayout to) {
    WHET_TRY(std::optional<Fragment> fragment, rounded_copy(fused_, value, to.stored, stored_));
    if (!fragment) return ok_status();
    WHET_TRY(const int task, table_.number_of(*fragment));
    result_.all.push_back(
        {AlternativeKind::transform, std::move(*fragment), -1, task, to_text(kChannelsLast) + " -> " + to_text(to)});
    return ok_status();
  }

  Status add_transform_of(ValueId value, ActivationLayout from, ActivationLayout to) {
    WHET_TRY(Fragment fragment, transform_of(fused_, value, from, to));
    int task = -1;
    if (!fragment.kernel.empty()) {
      WHET_TRY(task, table_.number_of(fragment));
    }
    result_.all.push_back(
        {AlternativeKind::transform, std::move(fragment), -1, task, to_text(from) + " -> " + to_text(to)});
    return ok_status();
  }

  const FusedGraph& fused_;
  const Target& target_;
  const StoredForms stored_;
  const InPlace in_place_;
  std::vector<int> task_of_group_;
  TaskTable table_;
  std::vector<int> readers_;                        ///< by value: operands of nodes, and outputs of the graph
  std::vector<std::vector<int>> reading_;           ///< groups, by value
  std::vector<std::vector<std::size_t>> of_group_;  ///< numbers of alternatives on whole tensors, by group
  Alternatives result_;
};

/// Grows the network of a plan: fragments one behind the other.
class Assembly {
 public:
  explicit Assembly(const FusedGraph& fused) : from_(fused.graph) {
    result_.graph.name = from_.name;
    for (ValueId id : from_.inputs) {
      const Value& value = from_.value(id);
      const ValueId now = result_.graph.add_value(unique(value.name), value.type);
      result_.graph.inputs.push_back(now);
      stored_[{id, kChannelsLast}] = now;
    }
  }

  Status add(const Alternative& alternative) {
    const Fragment& fragment = alternative.fragment;
    std::vector<ValueId> now(fragment.graph.values.size());
    for (std::size_t i = 0; i < fragment.reads.size(); ++i) {
      const auto found = stored_.find(fragment.reads[i]);
      if (found == stored_.end()) return missing(fragment.reads[i]);
      now[fragment.graph.inputs[i].index()] = found->second;
    }
    std::vector<NodeId> nodes(fragment.graph.nodes.size());
    for (std::size_t n = 0; n < fragment.graph.nodes.size(); ++n) {
      const Node& node = fragment.graph.nodes[n];
      std::vector<ValueId> inputs;
      for (ValueId id : node.inputs) inputs.push_back(value_of(fragment.graph, id, now));
      nodes[n] = NodeId(std::ssize(result_.graph.nodes));
      WHET_TRY(now[node.output.index()], result_.graph.add_node(unique(node.name), node.op, std::move(inputs)));
    }
    for (std::size_t i = 0; i < fragment.writes.size(); ++i)
      stored_[fragment.writes[i]] = now[fragment.graph.outputs[i].index()];
    std::vector<NodeId> kernel;
    for (NodeId n : fragment.kernel) kernel.push_back(nodes[n.index()]);
    if (!kernel.empty()) result_.groups.push_back(group_of(result_.graph, kernel));
    return ok_status();
  }

  Result<FusedGraph> finish() && {
    for (ValueId id : from_.outputs) {
      const StoredValue wanted{id, kChannelsLast};
      if (from_.value(id).constant) {
        result_.graph.outputs.push_back(result_.graph.add_constant(from_.value(id).name, *from_.value(id).constant));
        continue;
      }
      if (!stored_.contains(wanted)) return missing(wanted);
      result_.graph.outputs.push_back(stored_.at(wanted));
    }
    name_outputs();
    WHET_RETURN_IF_ERROR(verify(result_.graph));
    return std::move(result_);
  }

 private:
  ValueId value_of(const Graph& fragment, ValueId id, std::vector<ValueId>& now) {
    const Value& value = fragment.value(id);
    if (value.constant && !now[id.index()].valid())
      now[id.index()] = result_.graph.add_constant(unique(value.name), *value.constant);
    return now[id.index()];
  }

  /// Users know outputs by the names of the file.
  void name_outputs() {
    for (std::size_t i = 0; i < from_.outputs.size(); ++i) {
      const std::string& wanted = from_.value(from_.outputs[i]).name;
      Value& output = result_.graph.value(result_.graph.outputs[i]);
      for (Value& other : result_.graph.values)
        if (&other != &output && other.name == wanted) other.name = unique(wanted + "_inner");
      output.name = wanted;
    }
  }

  Error missing(const StoredValue& value) const {
    return Error{"the plan reads " + from_.value(value.value).name + " stored as " + to_text(value.form) +
                 ", which nothing before has written"};
  }

  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
    return name;
  }

  const Graph& from_;
  FusedGraph result_;
  std::map<StoredValue, ValueId> stored_;
  std::set<std::string> names_;
};

}  // namespace

std::string_view name_of(AlternativeKind kind) {
  switch (kind) {
    case AlternativeKind::usual:
      return "usual";
    case AlternativeKind::alias:
      return "alias";
    case AlternativeKind::layout:
      return "layout";
    case AlternativeKind::transform:
      return "transform";
    case AlternativeKind::lowered:
      return "lowered";
    case AlternativeKind::cover:
      break;
  }
  return "cover";
}

bool names_chain(std::string_view name) { return name.starts_with(kChain); }
bool chains_depthwise(const Alternative& alternative) {
  const Graph& graph = alternative.fragment.graph;
  return names_chain(alternative.name) && std::ranges::any_of(alternative.fragment.kernel, [&](NodeId n) {
           const auto* conv = std::get_if<ConvOperator>(&graph.node(n).op);
           return conv != nullptr && conv->groups > 1;
         });
}
bool names_cover(std::string_view name) {
  return name.starts_with(kMerged) || name.starts_with(kFromMerged) || names_chain(name);
}

bool pads(const FusedGraph& fused, const Alternative& alternative) {
  const auto padded = [&](const StoredValue& stored) {
    const Shape& shape = fused.graph.value(stored.value).type.shape;
    return stored_shape(shape, stored.form) && pads(shape, stored.form);
  };
  const Fragment& fragment = alternative.fragment;
  return std::any_of(fragment.reads.begin(), fragment.reads.end(), padded) ||
         std::any_of(fragment.writes.begin(), fragment.writes.end(), padded);
}

std::vector<ActivationLayout> forms_for(const Target& target) {
  std::vector<ActivationLayout> forms = {kChannelsFirst};
  if (!target.is_cpu()) return forms;
  const std::int64_t lanes = target.cpu().lanes(static_cast<int>(size_of(DType::f32)));
  for (std::int64_t block : {4, 8, 16, 32, 64})
    if (block % lanes == 0) forms.push_back({block});
  return forms;
}

std::vector<StoredAs> lowered_for(const Target& target) {
  if (!target.is_cpu()) return {};
  const CpuTarget& cpu = target.cpu();
  std::vector<StoredAs> types;
  if (cpu.bf16_products) types.push_back(StoredAs::bf16);
  if (has_products_of_i16(cpu)) types.push_back(StoredAs::i16);
  types.push_back(StoredAs::u8);
  return types;
}

Result<Alternatives> find_alternatives(const FusedGraph& fused, const Target& target,
                                       const AlternativeOptions& options) {
  WHET_TRY(PlacedTasks placed, place_tasks(fused, target));
  return Finder(fused, target, std::move(placed), options.ranges).run(options);
}

Result<FusedGraph> assemble(const FusedGraph& fused, const Alternatives& alternatives, const std::vector<int>& chosen) {
  Assembly assembly(fused);
  for (int number : chosen) WHET_RETURN_IF_ERROR(assembly.add(alternatives.all[static_cast<std::size_t>(number)]));
  return std::move(assembly).finish();
}

}  // namespace whet
