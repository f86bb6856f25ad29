#include "alternatives/chain.h"

#include <algorithm>
#include <map>
#include <optional>

#include "alternatives/cover_builder.h"

namespace whet {
namespace {

enum class LinkKind { pointwise, depthwise, window, pool };

/// A group as a part of a chain.
struct Link {
  LinkKind kind;
  ValueId input;  ///< of its convolution or pool, before paddings
};

bool are_all(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == wanted; });
}

/// Of pictures with rows and columns, channels last.
std::optional<LinkKind> kind_of(const Graph& graph, const Node& node) {
  const Shape& result = graph.value(node.output).type.shape;
  if (result.size() != 4 || result[1] < 2 || result[2] < 2) return std::nullopt;
  if (const auto* pool = std::get_if<PoolOperator>(&node.op))
    return pool->layout == Layout::channels_last ? std::optional(LinkKind::pool) : std::nullopt;
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  if (!conv || conv->layout != Layout::channels_last || !graph.value(node.inputs[1]).constant) return std::nullopt;
  const Shape& weights = graph.value(node.inputs[1]).type.shape;
  if (weights.size() == 3) return LinkKind::depthwise;
  if (conv->groups != 1) return std::nullopt;
  const bool single = weights[0] == 1 && weights[1] == 1 && are_all(conv->strides, 1) && are_all(conv->pads_begin, 0) &&
                      are_all(conv->pads_end, 0);
  return single ? LinkKind::pointwise : LinkKind::window;
}

bool is_graph_input(const Graph& graph, ValueId id) {
  return std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end();
}

/// The group's only convolution or pool; nothing where it has none or several, or where something but paddings is
/// before it, or where it reads its input behind it again. What the network is given may be turned before it.
std::optional<Link> link_of(const FusedGraph& fused, const Group& group) {
  std::optional<Link> link;
  std::map<ValueId, ValueId> from;  // results of paddings and turns, and what they read
  for (NodeId n : group.nodes) {
    const Node& node = fused.graph.node(n);
    const bool heavy = std::holds_alternative<ConvOperator>(node.op) || std::holds_alternative<PoolOperator>(node.op);
    const auto known = from.find(node.inputs[0]);
    const ValueId read = known == from.end() ? node.inputs[0] : known->second;
    if (link) {
      if (heavy || std::count(node.inputs.begin(), node.inputs.end(), link->input) > 0) return std::nullopt;
    } else if (heavy) {
      const std::optional<LinkKind> kind = kind_of(fused.graph, node);
      if (!kind) return std::nullopt;
      link = Link{*kind, read};
    } else if (std::holds_alternative<PadOperator>(node.op) ||
               (std::holds_alternative<TransposeOperator>(node.op) && is_graph_input(fused.graph, read))) {
      from[node.output] = read;
    } else {
      return std::nullopt;
    }
  }
  return link;
}

class ChainFinder {
 public:
  explicit ChainFinder(const FusedGraph& fused) : fused_(fused), readers_(fused.graph.values.size()) {
    for (const Group& group : fused.groups) {
      links_.push_back(link_of(fused, group));
      for (ValueId input : group.inputs) ++readers_[input.index()];
    }
    for (const Node& node : fused.graph.nodes)
      if (alias_offset(fused.graph, node)) ++readers_[node.inputs[0].index()];
    for (ValueId output : fused.graph.outputs) readers_[output.index()] += 2;
    for (std::size_t g = 0; g < fused.groups.size(); ++g)
      writers_[fused.groups[g].outputs.front()] = static_cast<int>(g);
  }

  std::vector<GroupChain> run() {
    for (std::size_t g = 0; g < links_.size(); ++g) {
      const int last = static_cast<int>(g), before = before_of(last);
      if (before < 0) continue;
      const LinkKind first = kind(before), second = kind(last);
      if (const double hope = hope_of(first, second); hope > 0) add({before, last}, hope);
      if (second == LinkKind::pointwise) add_with_one_before(before, last);
    }
    return std::move(chains_);
  }

 private:
  static constexpr double kHopeOfBottleneck = 0.6, kHopeOfThree = 0.75;

  LinkKind kind(int group) const { return links_[static_cast<std::size_t>(group)]->kind; }

  /// The group whose result this one alone reads; -1 where it is no link, or the two make no chain.
  int before_of(int group) const {
    const std::optional<Link>& link = links_[static_cast<std::size_t>(group)];
    if (!link || readers_[link->input.index()] != 1) return -1;
    const auto writer = writers_.find(link->input);
    return writer != writers_.end() && links_[static_cast<std::size_t>(writer->second)] ? writer->second : -1;
  }

  /// The convolution before the two of which the last one is pointwise: an inverted bottleneck, the beginning of a network, or a
  /// pool between two convolutions.
  void add_with_one_before(int middle, int last) {
    const int first = before_of(middle);
    const bool deep = first >= 0 && kind(middle) == LinkKind::depthwise;
    if (first < 0 || !convolves(kind(first)) || (!deep && kind(middle) != LinkKind::pool)) return;
    add({first, middle, last}, deep && kind(first) == LinkKind::pointwise ? kHopeOfBottleneck : kHopeOfThree);
  }

  static bool convolves(LinkKind kind) { return kind == LinkKind::window || kind == LinkKind::pointwise; }

  /// Of the time of the two kernels a chain is hoped to take no less than this part: the values between them need not go
  /// through the caches. 0: they make no chain.
  static double hope_of(LinkKind first, LinkKind second) {
    if (second == LinkKind::pointwise) return first == LinkKind::depthwise ? 0.7 : convolves(first) ? 0.9 : 0.8;
    if (!convolves(first) || second == LinkKind::window) return 0;
    return second == LinkKind::depthwise ? 0.7 : 0.85;
  }

  void add(std::vector<int> groups, double hope) {
    GroupChain chain{std::move(groups), "", hope};
    for (int g : chain.groups)
      chain.name += (chain.name.empty() ? "" : "+") +
                    fused_.graph.value(fused_.groups[static_cast<std::size_t>(g)].outputs.front()).name;
    chains_.push_back(std::move(chain));
  }

  const FusedGraph& fused_;
  std::vector<std::optional<Link>> links_;  ///< by group
  std::vector<int> readers_;                ///< groups and aliases that read a value; more for outputs of the graph
  std::map<ValueId, int> writers_;
  std::vector<GroupChain> chains_;
};

}  // namespace

std::vector<GroupChain> find_chains(const FusedGraph& fused) { return ChainFinder(fused).run(); }

Result<Fragment> chained_kernel(const FusedGraph& fused, const GroupChain& chain) {
  CoverBuilder builder(fused.graph);
  std::map<ValueId, ValueId> now;
  ValueId last;
  for (int g : chain.groups)
    for (NodeId n : fused.groups[static_cast<std::size_t>(g)].nodes) {
      const Node& node = fused.graph.node(n);
      std::vector<ValueId> inputs;
      for (ValueId id : node.inputs) {
        const auto known = now.find(id);
        inputs.push_back(known == now.end() ? now[id] = builder.operand(id) : known->second);
      }
      last = node.output;
      WHET_TRY(now[last], builder.compute(node.name, node.op, inputs));
    }
  return std::move(builder).finish(now.at(last), {{last, kChannelsLast}});
}

}  // namespace whet
