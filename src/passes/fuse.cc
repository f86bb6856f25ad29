#include "passes/fuse.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>
#include <unordered_set>
#include <utility>

#include "passes/attention.h"
#include "passes/integer_form.h"
#include "passes/integer_products.h"
#include "passes/operator_class.h"
#include "passes/pad_pictures.h"
#include "passes/permutation.h"
#include "passes/squeeze_excite.h"

namespace whet {
namespace {

using Index = std::size_t;  ///< of a node

/// The rows that reductions of a group run along: the trailing dimensions from `first` on of tensors of `shape`.
struct Rows {
  Shape shape;
  std::size_t first = 0;
  friend bool operator==(const Rows&, const Rows&) = default;

  /// The shape of one value a row.
  Shape reduced() const {
    Shape result = shape;
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(first), result.end(), 1);
    return result;
  }
};

/// Who reads whom, and for every node the first node through which all that reads it must pass.
class Dominance {
 public:
  explicit Dominance(const Graph& graph) : consumers_(graph.nodes.size()), sink_(graph.nodes.size()) {
    std::vector<Index> producer(graph.values.size(), sink_);
    for (Index n = 0; n < sink_; ++n) producer[graph.nodes[n].output.index()] = n;
    for (Index n = 0; n < sink_; ++n) {
      for (ValueId id : graph.nodes[n].inputs) {
        const Index p = producer[id.index()];
        if (p != sink_ && (consumers_[p].empty() || consumers_[p].back() != n)) consumers_[p].push_back(n);
      }
    }
    for (ValueId id : graph.outputs) {
      if (producer[id.index()] != sink_) consumers_[producer[id.index()]].push_back(sink_);
    }
    next_.assign(sink_ + 1, sink_);
    far_.assign(sink_ + 1, sink_);
    depth_.assign(sink_ + 1, 0);
    seen_.assign(sink_ + 1, 0);
    for (Index n = sink_; n-- > 0;) find_next(n);
  }

  Index sink() const { return sink_; }
  std::size_t steps() const { return steps_; }
  /// The nearest node behind `n` that every path to an output passes; the sink when there is none.
  Index next(Index n) const { return next_[n]; }
  /// The nodes on paths from `n` to `end`, without `n`, with `end`, in order; nothing as soon as one but `end` is not
  /// admitted, or where there are more than `most`.
  template <typename Admits>
  std::optional<std::vector<Index>> between(Index n, Index end, std::size_t most, const Admits& admits) {
    ++searches_;
    seen_[end] = searches_;
    std::vector<Index> found = {end}, open = {n};
    while (!open.empty()) {
      const Index at = open.back();
      open.pop_back();
      for (Index c : consumers_[at]) {
        ++steps_;
        if (std::exchange(seen_[c], searches_) == searches_) continue;
        if (found.size() == most || !admits(c)) return std::nullopt;
        found.push_back(c);
        open.push_back(c);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  void find_next(Index n) {
    Index common = consumers_[n].empty() ? sink_ : consumers_[n][0];
    for (Index c : consumers_[n]) common = meeting(common, c);
    next_[n] = common;
    depth_[n] = depth_[common] + 1;
    // Jumps double as in a skew binary number, so that two nodes meet in a logarithm of their depth: values that are read
    // far behind their first reader would make each search as long as the graph.
    const Index far = far_[common];
    far_[n] = depth_[common] - depth_[far] == depth_[far] - depth_[far_[far]] ? far_[far] : common;
  }

  /// The nearest node that every path from either passes.
  Index meeting(Index a, Index b) {
    if (depth_[a] < depth_[b]) std::swap(a, b);
    for (; depth_[a] > depth_[b]; ++steps_) a = depth_[far_[a]] < depth_[b] ? next_[a] : far_[a];
    for (; a != b; ++steps_) {
      const bool near = far_[a] == far_[b];
      a = near ? next_[a] : far_[a], b = near ? next_[b] : far_[b];
    }
    return a;
  }

  std::vector<std::vector<Index>> consumers_;
  Index sink_;
  std::vector<Index> next_, far_;  ///< far: some steps of `next`, as many for all nodes of one depth
  std::vector<int> depth_;         ///< steps of `next` to the sink
  std::vector<std::size_t> seen_;  ///< by which search last
  std::size_t searches_ = 0, steps_ = 0;
};

/// What the operators of a graph are, and how an operator and one that reads it would suit one kernel: nothing of groups.
class NodeFacts {
 public:
  explicit NodeFacts(const Graph& graph)
      : graph_(graph), readers_(graph.values.size()), producers_(graph.values.size()) {
    for (const Node& node : graph.nodes) {
      classes_.push_back(is_look_up(graph, node) ? OperatorClass::elementwise : class_of(node.op));
      widens_.push_back(is_on_the_way_from_a_byte(node));
      producers_[node.output.index()] = &node;
      for (auto input = node.inputs.begin(); input != node.inputs.end(); ++input)
        if (std::find(node.inputs.begin(), input, *input) == input) ++readers_[input->index()];
    }
  }

  const Shape& shape(Index n) const { return graph_.value(graph_.nodes[n].output).type.shape; }
  std::int64_t elements(Index n) const { return num_elements(shape(n)); }
  bool is_elementwise(Index n) const { return classes_[n] == OperatorClass::elementwise; }
  bool only_moves_or_maps(Index n) const { return is_elementwise(n) || classes_[n] == OperatorClass::injective; }

  /// The rows of a reduction over trailing dimensions that keeps them as extents of 1.
  std::optional<Rows> rows_of(Index n) const {
    const auto* op = std::get_if<ReduceOperator>(&graph_.nodes[n].op);
    if (!op || !op->keep_dims || op->axes.empty()) return std::nullopt;
    const Shape& x = graph_.value(graph_.nodes[n].inputs[0]).type.shape;
    const std::size_t first = x.size() - op->axes.size();
    if (op->axes.front() != static_cast<std::int64_t>(first)) return std::nullopt;
    return Rows{x, first};
  }

  /// A few values, each repeated for its neighbours (what there is one of a group of channels): written down once, since
  /// many elements would look for theirs by a division each.
  bool spreads_a_few(Index n, const std::vector<Index>& readers) const {
    constexpr std::int64_t kMany = 16;
    if (!std::holds_alternative<ReshapeOperator>(graph_.nodes[n].op)) return false;
    const Node* spread = producers_[graph_.nodes[n].inputs[0].index()];
    if (!spread || !std::holds_alternative<ExpandOperator>(spread->op)) return false;
    const Shape &from = graph_.value(spread->inputs[0]).type.shape, &to = graph_.value(spread->output).type.shape;
    const bool neighbours = !from.empty() && from.back() == 1 && to.back() > 1;
    return neighbours && std::all_of(readers.begin(), readers.end(),
                                     [&](Index k) { return is_elementwise(k) && elements(k) >= kMany * elements(n); });
  }

  /// True when the operator reads an element of what n computes for more than one place of its result.
  bool repeats(Index k, Index n) const {
    const Operator& op = graph_.nodes[k].op;
    if (std::holds_alternative<ExpandOperator>(op)) return true;
    if (std::holds_alternative<GatherOperator>(op) || std::holds_alternative<ResizeOperator>(op) ||
        std::holds_alternative<GatherElementsOperator>(op) || std::holds_alternative<GatherNdOperator>(op)) {
      return elements(k) > num_elements(graph_.value(graph_.nodes[k].inputs[0]).type.shape);
    }
    return is_elementwise(k) && elements(k) > elements(n);
  }

  /// A concatenation whose parts are so narrow that a vector of it spans several. Each part would be computed for all lanes.
  bool is_crowded(Index k) const {
    constexpr std::size_t kMany = 4, kNarrow = 8;
    const Node& node = graph_.nodes[k];
    const auto* concat = std::get_if<ConcatOperator>(&node.op);
    return concat && node.inputs.size() >= kMany && concat->axis == std::ssize(shape(k)) - 1 &&
           shape(k).back() < static_cast<std::int64_t>(kNarrow * node.inputs.size());
  }

  /// A range of what others read as well: a convolution or matmul reads it where it is.
  bool is_part(Index n) const {
    const auto* slice = std::get_if<SliceOperator>(&graph_.nodes[n].op);
    if (slice == nullptr ||
        std::any_of(slice->steps.begin(), slice->steps.end(), [](std::int64_t s) { return s != 1; }))
      return false;
    return readers_[graph_.nodes[n].inputs[0].index()] > 1;
  }

  /// A picture of a few channels in the file's order: a convolution, which takes one element after another for all of
  /// its output channels, reads it as well where it is.
  bool is_turned_picture(Index n, Index end) const {
    constexpr std::int64_t kFew = 4;
    const auto* turn = std::get_if<TransposeOperator>(&graph_.nodes[n].op);
    const auto* conv = std::get_if<ConvOperator>(&graph_.nodes[end].op);
    return turn && conv && !stores_bytes(n) && conv->groups == 1 && conv->layout == Layout::channels_last &&
           shape(n).back() <= kFew && turn->perm == channels_last_permutation(turn->perm.size());
  }

  /// A product with one computed value a channel, as squeeze-and-excite ends: a convolution of single pixels multiplies
  /// its weights instead, once a tile. That costs less: such tiles have few channels and many pixels. It may read the
  /// product rounded to 16 bits: then it multiplies the input.
  bool is_scale(Index n, Index end) const {
    constexpr std::int64_t kFew = 40;
    const auto* rounded = std::get_if<CastOperator>(&graph_.nodes[n].op);
    const Node* scale =
        rounded && is_half(rounded->to) ? producers_[graph_.nodes[n].inputs[0].index()] : &graph_.nodes[n];
    const auto* product = scale ? std::get_if<BinaryOperator>(&scale->op) : nullptr;
    const auto* conv = std::get_if<ConvOperator>(&graph_.nodes[end].op);
    if (!product || product->kind != BinaryKind::mul || !conv || conv->groups != 1 ||
        conv->layout != Layout::channels_last)
      return false;
    const Shape& kernel = graph_.value(graph_.nodes[end].inputs[1]).type.shape;
    if (std::any_of(kernel.begin(), kernel.end() - 2, [](std::int64_t extent) { return extent != 1; })) return false;
    if (kernel.back() > kFew) return false;
    Shape one_a_channel(shape(n).size(), 1);
    one_a_channel.front() = shape(n).front(), one_a_channel.back() = shape(n).back();
    const auto has = [&](const Shape& wanted) {
      return std::any_of(scale->inputs.begin(), scale->inputs.end(),
                         [&](ValueId id) { return graph_.value(id).type.shape == wanted; });
    };
    return shape(n) != one_a_channel && has(shape(n)) && has(one_a_channel);
  }

  bool stores_bytes(Index n) const { return size_of(graph_.value(graph_.nodes[n].output).type.dtype) == 1; }

  /// Bytes that become floats where a depthwise convolution reads them: its taps share them.
  bool widens_for_taps(Index n, Index end) const {
    const auto* conv = std::get_if<ConvOperator>(&graph_.nodes[end].op);
    if (!conv || conv->groups == 1 || !is_elementwise(n) || graph_.nodes[n].inputs.size() > 2) return false;
    const Node* at = &graph_.nodes[n];
    if (const auto* shift = std::get_if<BinaryOperator>(&at->op);
        shift && shift->kind == BinaryKind::sub && num_elements(graph_.value(at->inputs[1]).type.shape) == 1)
      at = producers_[at->inputs[0].index()];
    return at && std::holds_alternative<CastOperator>(at->op) && is_byte(graph_.value(at->inputs[0]).type.dtype);
  }

  /// On the way from a byte to the float that it stands for: computed by who reads that.
  bool widens(Index n) const { return widens_[n]; }

  /// What computes the 16 bits that a convolution of single pixels multiplies, where it alone reads them: cheap elementwise operators of
  /// an activation of 16 bits and constants, in order. Nothing where it is something else, or where a tile has so few columns that its
  /// products would not hide what it computes.
  std::vector<Index> computed_operand(Index conv) const {
    constexpr std::int64_t kFewestColumns = 32;
    constexpr std::size_t kMostInChain = 8;
    if (!is_of_single_pixels(graph_.nodes[conv]) || shape(conv).back() < kFewestColumns) return {};
    std::vector<Index> chain;
    ValueId value = graph_.nodes[conv].inputs[0];
    if (!is_half(graph_.value(value).type.dtype)) return {};
    do {
      const Node* node = producers_[value.index()];
      if (!node || readers_[value.index()] != 1 || chain.size() == kMostInChain) return {};
      const std::optional<ValueId> operand = mapped_operand(*node);
      if (!operand) return {};
      chain.insert(chain.begin(), static_cast<Index>(node - graph_.nodes.data()));
      value = *operand;
    } while (!is_half(graph_.value(value).type.dtype));
    return chain.size() > 1 ? chain : std::vector<Index>();
  }

 protected:
  const Graph& graph_;
  std::vector<OperatorClass> classes_;

 private:
  bool is_of_single_pixels(const Node& node) const {
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    if (!conv || !conv->wide || conv->groups != 1 || conv->layout != Layout::channels_last) return false;
    const Shape& kernel = graph_.value(node.inputs[1]).type.shape;
    const auto are = [](const auto& numbers, std::int64_t all) {
      return std::ranges::all_of(numbers, [&](std::int64_t each) { return each == all; });
    };
    return are(std::span(kernel).first(kernel.size() - 2), 1) && are(conv->pads_begin, 0) && are(conv->pads_end, 0);
  }

  /// The one activation of a cheap elementwise operator, which has the result's shape; its other operands are constants.
  std::optional<ValueId> mapped_operand(const Node& node) const {
    const auto* unary = std::get_if<UnaryOperator>(&node.op);
    const auto* binary = std::get_if<BinaryOperator>(&node.op);
    const bool scales = binary && (binary->kind == BinaryKind::add || binary->kind == BinaryKind::sub ||
                                   binary->kind == BinaryKind::mul);
    if (!scales && !(unary && unary->kind == UnaryKind::relu) && !std::holds_alternative<ClipOperator>(node.op) &&
        !std::holds_alternative<CastOperator>(node.op))
      return std::nullopt;
    std::optional<ValueId> activation;
    for (ValueId id : node.inputs) {
      if (graph_.value(id).constant) continue;
      if (activation || graph_.value(id).type.shape != graph_.value(node.output).type.shape) return std::nullopt;
      activation = id;
    }
    return activation;
  }

  /// `widens` of a node whose operands are known.
  bool is_on_the_way_from_a_byte(const Node& node) const {
    if (std::holds_alternative<BinaryOperator>(node.op)) {
      const Node* before = producers_[node.inputs[0].index()];
      return before && num_elements(graph_.value(node.inputs[1]).type.shape) == 1 &&
             widens_[static_cast<Index>(before - graph_.nodes.data())];
    }
    const auto* cast = std::get_if<CastOperator>(&node.op);
    return cast && cast->to == DType::f32 && is_byte(graph_.value(node.inputs[0]).type.dtype);
  }

  std::vector<int> readers_;            ///< nodes that read a value
  std::vector<const Node*> producers_;  ///< of a value; null for inputs and constants
  std::vector<bool> widens_;            ///< by node
};

class Fusion : NodeFacts {
 public:
  explicit Fusion(const Graph& graph) : NodeFacts(graph), dominance_(graph), parent_(graph.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (Index n = 0; n < graph.nodes.size(); ++n) summaries_.push_back(summary_of(n));
  }

  /// Attentions and squeeze-and-excites are groups of their own. Anchors take their epilogues first. Other nodes form
  /// groups of their own, which a convolution may compute as it reads them.
  void run(bool computes_operands) {
    for (const auto& find : {find_attentions, find_squeeze_excites}) {
      for (const std::vector<NodeId>& nodes : find(graph_)) {
        for (NodeId n : nodes) unite(nodes.back().index(), n.index());
      }
    }
    const auto is_any = [](Index) { return true; };
    const auto is_epilogue = [&](Index n, const auto& readers) { return joins_epilogue(n, readers); };
    sweep([&](Index n) { return widens(n); }, is_epilogue);
    sweep([&](Index n) { return summary(n).anchor; }, is_epilogue);
    sweep(is_any, [&](Index n, const auto& readers) { return joins_epilogue(n, readers) || joins_rows(n, readers); });
    sweep(is_any, [&](Index n, const auto& readers) {
      return joins_epilogue(n, readers) || joins_rows(n, readers) || joins_chain(n, readers) ||
             joins_consumer(n, readers);
    });
    if (computes_operands) join_operands();
  }

  std::size_t steps() const { return steps_ + dominance_.steps(); }
  std::vector<std::vector<NodeId>> node_groups() {
    std::vector<std::vector<NodeId>> by_root(graph_.nodes.size());
    for (Index n = 0; n < graph_.nodes.size(); ++n) by_root[root(n)].push_back(NodeId(static_cast<std::int64_t>(n)));
    std::erase_if(by_root, [](const auto& group) { return group.empty(); });
    return by_root;
  }

 private:
  /// What counts of a group.
  struct Summary {
    std::size_t operands = 0;  ///< of all its operators
    std::size_t mapped = 0;    ///< elementwise operators
    bool anchor = false;       ///< holds a convolution or a matmul
    int heavy = 0;             ///< anchors, windows and softmaxes
    bool arithmetic = false;   ///< computes, not only moves
    bool pads_only = true;
    std::optional<Rows> rows;  ///< of its reductions along rows
    bool other_reduction = false;
    bool alone() const { return heavy == 0 && !rows && !other_reduction; }
  };

  Summary summary_of(Index n) const {
    Summary s;
    const OperatorClass c = classes_[n];
    s.operands = graph_.nodes[n].inputs.size();
    s.mapped = c == OperatorClass::elementwise ? 1 : 0;
    s.anchor = c == OperatorClass::anchor;
    s.heavy = c == OperatorClass::anchor || c == OperatorClass::window || c == OperatorClass::softmax;
    s.arithmetic = c != OperatorClass::injective;
    s.pads_only = std::holds_alternative<PadOperator>(graph_.nodes[n].op) && !pads_channels(graph_, graph_.nodes[n]);
    s.rows = rows_of(n);
    s.other_reduction = c == OperatorClass::reduction && !s.rows;
    return s;
  }

  /// Unites nodes with all that reads them up to the node that every such path passes, where a rule allows it. No rule
  /// allows convolutions, products or windows on the way: h of a recurrence is read by all that follows. `begins` says of which nodes
  /// it asks the rule.
  template <typename Begins, typename Rule>
  void sweep(const Begins& begins, const Rule& rule) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Index n = graph_.nodes.size(); n-- > 0;) {
        ++steps_;
        const Index end = dominance_.next(n);
        if (end == dominance_.sink() || !begins(n) || root(n) == root(end)) continue;
        const auto readers = dominance_.between(
            n, end, kMostOperands, [&](Index k) { return only_moves_or_maps(k) || rows_of(k).has_value(); });
        if (!readers || ends_in_bytes(n) || !rule(n, *readers) || !fits_one_kernel(n, *readers)) continue;
        for (Index k : *readers) unite(n, k);
        changed = true;
      }
    }
  }

  /// A group that does nothing but compute the operand of a convolution becomes a part of it.
  void join_operands() {
    std::vector<std::size_t> members(graph_.nodes.size(), 0);
    for (Index n = 0; n < graph_.nodes.size(); ++n) ++members[root(n)];
    for (Index conv = 0; conv < graph_.nodes.size(); ++conv) {
      const std::vector<Index> chain = computed_operand(conv);
      if (chain.empty() || dominance_.next(chain.back()) != conv || members[root(chain.back())] != chain.size() ||
          !fits_one_kernel(chain.back(), {conv}))
        continue;
      if (std::all_of(chain.begin(), chain.end(), [&](Index n) { return root(n) == root(chain.back()); }))
        unite(conv, chain.back());
    }
  }

  Index root(Index n) const {
    for (; parent_[n] != n; ++steps_) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  const Summary& summary(Index n) const { return summaries_[root(n)]; }

  void unite(Index a, Index b) {
    a = root(a), b = root(b);
    if (a == b) return;
    Summary &into = summaries_[a], from = summaries_[b];
    into.operands += from.operands;
    into.mapped += from.mapped;
    into.anchor |= from.anchor;
    into.heavy += from.heavy;
    into.arithmetic |= from.arithmetic;
    into.pads_only &= from.pads_only;
    into.other_reduction |= from.other_reduction;
    if (!into.rows) into.rows = from.rows;
    parent_[b] = a;
  }

  /// All that reads n is elementwise over n's shape; the groups together have one heavy member at the
  /// most.
  bool joins_epilogue(Index n, const std::vector<Index>& readers) const {
    if (classes_[n] == OperatorClass::injective && !summary(n).pads_only) return false;
    for (Index k : readers)
      if (!is_elementwise(k) || shape(k) != shape(n)) return false;
    return fit_together(groups_of(n, readers));
  }

  /// Of a node and of what reads it, each once.
  std::vector<Index> groups_of(Index n, const std::vector<Index>& readers) const {
    std::vector<Index> groups = {root(n)};
    for (Index k : readers) groups.push_back(root(k));
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  }

  bool fits_one_kernel(Index n, const std::vector<Index>& readers) const {
    std::size_t operands = 0, mapped = 0;
    for (Index g : groups_of(n, readers)) operands += summaries_[g].operands, mapped += summaries_[g].mapped;
    return operands <= kMostOperands && mapped <= kMostMapped;
  }

  /// One heavy member, or one kind of reduction, at the most; a group of reductions takes nothing heavy.
  bool fit_together(const std::vector<Index>& groups) const {
    int heavy = 0, reducing = 0;
    for (Index g : groups) {
      heavy += summaries_[g].heavy;
      reducing += summaries_[g].rows || summaries_[g].other_reduction;
    }
    return heavy + reducing <= 1;
  }

  /// n and all that reads it works along the same rows: elementwise over whole rows or over one value a
  /// row, or a reduction of rows.
  bool joins_rows(Index n, const std::vector<Index>& readers) const {
    const Rows* rows = nullptr;
    const auto may_join = [&](Index k) {
      const Summary& s = summary(k);
      if (s.heavy > 0 || s.other_reduction || (s.rows && rows && *s.rows != *rows)) return false;
      if (s.rows) rows = &*s.rows;
      return true;
    };
    if (!std::all_of(readers.begin(), readers.end(), may_join) || !may_join(n) || rows == nullptr) return false;
    const auto works_along = [&](Index k) {
      if (rows_of(k)) return true;
      return is_elementwise(k) && (shape(k) == rows->shape || shape(k) == rows->reduced());
    };
    return works_along(n) && std::all_of(readers.begin(), readers.end(), works_along);
  }

  /// n is cheap to compute where it is read: elementwise and injective operators, none of which asks for an
  /// element of n at more places than n has.
  bool joins_chain(Index n, const std::vector<Index>& readers) const {
    if (!only_moves_or_maps(n) || !summary(n).alone() || spreads_a_few(n, readers)) return false;
    return std::all_of(readers.begin(), readers.end(), [&](Index k) {
      if (!only_moves_or_maps(k) || !summary(k).alone()) return false;
      return !summary(n).arithmetic || (!repeats(k, n) && !is_crowded(k));
    });
  }

  /// n is computed inside its only consumer, which reduces it: each element once, or as padding.
  bool joins_consumer(Index n, const std::vector<Index>& readers) const {
    if (readers.size() != 1 || !only_moves_or_maps(n) || !summary(n).alone()) return false;
    return reads_through(n, readers[0]);
  }

  /// The value is one of bytes that a quantized model rounds to: it is stored so, and its readers widen it, unless they are
  /// elementwise up to the next such value or to an output of the model. So no kernel writes more than it must.
  bool ends_in_bytes(Index n) const {
    const auto* cast = std::get_if<CastOperator>(&graph_.nodes[n].op);
    if (!cast || !is_byte(cast->to) || !is_float(graph_.value(graph_.nodes[n].inputs[0]).type.dtype)) return false;
    for (Index at = dominance_.next(n); at != dominance_.sink(); at = dominance_.next(at)) {
      if (stores_bytes(at) && only_moves_or_maps(at)) return false;
      if (!is_elementwise(at) || shape(at) != shape(n)) return true;
      if (dominance_.next(at) == dominance_.sink()) return false;
    }
    return true;
  }

  bool reads_through(Index n, Index end) const {
    const ValueId value = graph_.nodes[n].output;
    if (graph_.nodes[end].inputs[0] != value) return false;
    const bool pad = summary(n).pads_only;
    switch (classes_[end]) {
      case OperatorClass::anchor:
        return is_part(n) || is_turned_picture(n, end) || is_scale(n, end) ||
               (pad && std::holds_alternative<ConvOperator>(graph_.nodes[end].op) && !stores_bytes(n)) ||
               widens_for_taps(n, end);
      case OperatorClass::window: {
        const auto* pool = std::get_if<PoolOperator>(&graph_.nodes[end].op);
        return pad || (pool && is_elementwise(n) && pool->kernel == pool->strides);
      }
      case OperatorClass::reduction:
      case OperatorClass::softmax:
        return pad || is_elementwise(n);
      default:
        return false;
    }
  }

  Dominance dominance_;
  mutable std::vector<Index> parent_;  ///< who asks for a root shortens the way to it
  mutable std::size_t steps_ = 0;
  std::vector<Summary> summaries_;
};

// ---- From sets of nodes to groups.

bool is_reshape(const Graph& graph, NodeId id) { return std::holds_alternative<ReshapeOperator>(graph.node(id).op); }

/// How many elements stay together in a transpose; 0 for other operators.
std::int64_t row_that_moves(const Graph& graph, const Node& node) {
  const auto* op = std::get_if<TransposeOperator>(&node.op);
  if (!op) return 0;
  const Move move = essential({graph.value(node.inputs[0]).type.shape, op->perm});
  return move.perm.empty() ? 0 : move.source[static_cast<std::size_t>(move.perm.back())];
}

/// Whether a reshape at the end leaves its group: see drop_edge_aliases.
bool ends_in_alias(const Graph& graph, const std::vector<NodeId>& nodes) {
  constexpr std::int64_t kLongRow = 16;
  const NodeId last = nodes.back();
  if (!is_reshape(graph, last)) return false;
  if (nodes.size() == 2 && row_that_moves(graph, graph.node(nodes.front())) >= kLongRow) return true;
  const Shape& from = graph.value(graph.node(last).inputs[0]).type.shape;
  const Shape& to = graph.value(graph.node(last).output).type.shape;
  return to.empty() || (!from.empty() && from.back() >= to.back());
}

/// An alias at the edge of a group leaves it. At the end a slice stays, which spares computing the rest, and a reshape
/// when it gives longer innermost rows, which are what gets vectorized; not behind a lone transpose whose rows are long
/// enough: it is fast where its elements keep their coordinates.
void drop_edge_aliases(const Graph& graph, std::vector<NodeId>& nodes) {
  std::unordered_set<std::int32_t> written;
  std::erase_if(nodes, [&](NodeId id) {
    const Node& node = graph.node(id);
    const bool begins = !written.contains(node.inputs[0].value) && alias_offset(graph, node);
    if (!begins) written.insert(node.output.value);
    return begins;
  });
  while (!nodes.empty() && ends_in_alias(graph, nodes)) nodes.pop_back();
}

/// Numbers of 8 or 16 bits that stand for others by a scale.
bool has_scaled_numbers(const Graph& graph, const std::vector<NodeId>& nodes) {
  const auto is_scaled = [&](ValueId id) {
    const DType dtype = graph.value(id).type.dtype;
    return is_byte(dtype) || dtype == DType::i16;
  };
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) {
    const Node& node = graph.node(n);
    return is_scaled(node.output) || std::any_of(node.inputs.begin(), node.inputs.end(), is_scaled);
  });
}

/// A sum, difference or product, or a quotient of floats: a division of whole numbers by a known one takes a small part of the time.
bool scales_or_shifts(const Graph& graph, const Node& node) {
  const auto* binary = std::get_if<BinaryOperator>(&node.op);
  return binary &&
         (binary->kind == BinaryKind::add || binary->kind == BinaryKind::sub || binary->kind == BinaryKind::mul ||
          (binary->kind == BinaryKind::div && is_float(graph.value(node.output).type.dtype)));
}

/// Where the elements of a slice begin, when they are one range of its input.
std::optional<std::int64_t> range_of(const SliceOperator& op, const Shape& from) {
  const std::vector<std::int64_t> strides = row_major_strides(from);
  std::int64_t begin = 0;
  bool inside = false;  // behind the dimension that is cut: whole ones only
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool whole = op.shape[d] == from[d];
    if (op.shape[d] > 1 && op.steps[d] != 1) return std::nullopt;
    if (inside && !whole) return std::nullopt;
    inside = inside || op.shape[d] > 1;
    begin += op.starts[d] * strides[d];
  }
  return begin;
}

}  // namespace

std::optional<std::uint64_t> alias_offset(const Graph& graph, const Node& node) {
  if (std::holds_alternative<ReshapeOperator>(node.op)) return 0;
  const auto* slice = std::get_if<SliceOperator>(&node.op);
  if (slice == nullptr) return std::nullopt;
  const TensorType& from = graph.value(node.inputs[0]).type;
  const auto begin = range_of(*slice, from.shape);
  if (!begin) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(*begin * size_of(from.dtype));
  return bytes % kCacheLine == 0 ? std::optional(bytes) : std::nullopt;
}

bool is_literal(const Graph& graph, const std::vector<NodeId>& group_nodes, ValueId id) {
  const auto& constant = graph.value(id).constant;
  if (!constant || constant->size() != 1) return false;
  const auto reads = [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  };
  const bool scales = std::any_of(group_nodes.begin(), group_nodes.end(), [&](NodeId n) {
    return reads(graph.node(n)) && scales_or_shifts(graph, graph.node(n));
  });
  if (scales && has_scaled_numbers(graph, group_nodes)) return false;
  return std::all_of(group_nodes.begin(), group_nodes.end(), [&](NodeId n) {
    return !reads(graph.node(n)) || class_of(graph.node(n).op) == OperatorClass::elementwise;
  });
}

Group group_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  Group group{.nodes = nodes, .inputs = {}, .outputs = {graph.node(nodes.back()).output}};
  std::unordered_set<std::int32_t> known;
  for (NodeId n : nodes) known.insert(graph.node(n).output.value);
  for (NodeId n : nodes) {
    for (ValueId id : graph.node(n).inputs)
      if (known.insert(id.value).second && !is_literal(graph, nodes, id)) group.inputs.push_back(id);
  }
  return group;
}

Result<FusedGraph> fuse(Graph graph, const FuseOptions& options, std::size_t* steps) {
  Fusion fusion(graph);
  if (options.enabled) fusion.run(options.computes_operands);
  if (steps) *steps = fusion.steps();
  std::vector<std::vector<NodeId>> node_groups = fusion.node_groups();
  std::vector<Group> groups;
  for (std::vector<NodeId>& nodes : node_groups) {
    drop_edge_aliases(graph, nodes);
    if (!nodes.empty()) groups.push_back(group_of(graph, nodes));
  }
  // A group's last node is its output, and whatever it reads comes before that node.
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.nodes.back() < b.nodes.back(); });
  return FusedGraph{std::move(graph), std::move(groups)};
}

std::string to_text(const FusedGraph& fused) {
  std::string text;
  for (const Group& group : fused.groups) {
    std::string operators, inputs;
    for (NodeId n : group.nodes) operators += (operators.empty() ? "" : "+") + name_of(fused.graph.node(n).op);
    for (ValueId id : group.inputs) inputs += (inputs.empty() ? "" : ", ") + fused.graph.value(id).name;
    const Value& output = fused.graph.value(group.outputs[0]);
    text += operators + " (" + inputs + ") -> " + output.name + " " + to_string(output.type) + "\n";
  }
  return text;
}

}  // namespace whet
