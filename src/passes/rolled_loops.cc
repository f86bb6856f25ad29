#include "passes/rolled_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "passes/dead_code.h"
#include "passes/operator_class.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// Values, one a round, which are a whole where they lie side by side along the axis.
using Rounds = std::vector<ValueId>;

/// What makes a whole: an operator on wholes and on values that all rounds read, or a slice of one value.
struct Whole {
  const Node* like = nullptr;  ///< the first round's node
  SliceOperator slice;         ///< of the first operand; where `like` is a slice
  struct Operand {
    std::optional<std::size_t> whole;  ///< number of another whole, before this one
    ValueId same;                      ///< of all rounds
  };
  std::vector<Operand> operands;
};

/// Looks for the wholes that a concatenation is made of.
class Roll {
 public:
  Roll(const Graph& graph, const std::vector<const Node*>& producers, const std::vector<int>& uses, const Node& concat)
      : graph_(graph),
        producers_(producers),
        uses_(uses),
        axis_(static_cast<std::size_t>(std::get<ConcatOperator>(concat.op).axis)),
        parts_(concat.inputs),
        found_(find(parts_, 0)) {}

  /// The last one is the concatenation.
  const std::vector<Whole>& wholes() const { return wholes_; }
  /// Whether nothing else reads what the rounds compute.
  bool succeeds() const {
    if (!found_) return false;
    for (const auto& [rounds, number] : numbers_) {
      if (std::holds_alternative<SliceOperator>(wholes_[number].like->op)) continue;
      for (ValueId id : rounds)
        if (uses_[id.index()] != reads_.at(number)) return false;
    }
    return true;
  }

 private:
  static constexpr int kMostSteps = 64;

  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  std::int64_t extent(std::size_t round) const { return type(parts_[round]).shape[axis_]; }

  /// The number of the whole; nothing where the rounds differ.
  std::optional<std::size_t> find(const Rounds& rounds, int steps) {
    if (const auto known = numbers_.find(rounds); known != numbers_.end())
      return ++reads_[known->second], known->second;
    if (steps == kMostSteps || !are_alike(rounds)) return std::nullopt;
    std::optional<Whole> whole = neighbours(rounds);
    if (!whole) whole = computed(rounds, steps);
    if (!whole) return std::nullopt;
    wholes_.push_back(std::move(*whole));
    reads_[wholes_.size() - 1] = 1;
    return numbers_[rounds] = wholes_.size() - 1;
  }

  /// Values of equal operators, which differ along the axis alone, as the parts do.
  bool are_alike(const Rounds& rounds) const {
    const Node* first = producers_[rounds.front().index()];
    Shape shape = type(rounds.front()).shape;
    if (!first || shape.size() != type(parts_.front()).shape.size()) return false;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      const Node* node = producers_[rounds[r].index()];
      shape[axis_] = extent(r);
      if (!node || type(rounds[r]) != TensorType{type(rounds.front()).dtype, shape}) return false;
      if (node->op.index() != first->op.index() || node->inputs.size() != first->inputs.size()) return false;
    }
    return true;
  }

  /// Slices of one value, one behind the other; or single ones with steps between them.
  std::optional<Whole> neighbours(const Rounds& rounds) const {
    const auto slice_of = [&](std::size_t r) -> const SliceOperator& {
      return std::get<SliceOperator>(producers_[rounds[r].index()]->op);
    };
    const Node& first = *producers_[rounds.front().index()];
    if (!std::holds_alternative<SliceOperator>(first.op)) return std::nullopt;
    SliceOperator whole = slice_of(0);
    const std::int64_t step = extent(0) == 1 ? slice_of(1).starts[axis_] - whole.starts[axis_] : 1;
    if (step == 0) return std::nullopt;
    std::int64_t next = whole.starts[axis_], extents = 0;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      SliceOperator own = slice_of(r);
      const bool single = own.shape[axis_] == 1;
      if (producers_[rounds[r].index()]->inputs[0] != first.inputs[0] || own.starts[axis_] != next) return std::nullopt;
      if (!single && (own.steps[axis_] != 1 || step != 1)) return std::nullopt;
      next += step * own.shape[axis_];
      extents += own.shape[axis_];
      for (auto list : {&SliceOperator::starts, &SliceOperator::steps, &SliceOperator::shape})
        (own.*list)[axis_] = (whole.*list)[axis_];
      if (own != whole) return std::nullopt;
    }
    whole.steps[axis_] = step;
    whole.shape[axis_] = extents;
    return Whole{&first, whole, {}};
  }

  std::optional<Whole> computed(const Rounds& rounds, int steps) {
    const Node& first = *producers_[rounds.front().index()];
    if (class_of(first.op) != OperatorClass::elementwise || std::holds_alternative<BatchNormOperator>(first.op))
      return std::nullopt;
    for (ValueId id : rounds)
      if (producers_[id.index()]->op != first.op) return std::nullopt;
    Whole whole{&first, {}, {}};
    bool varies = false;
    for (std::size_t k = 0; k < first.inputs.size(); ++k) {
      Rounds operands;
      for (ValueId id : rounds) operands.push_back(producers_[id.index()]->inputs[k]);
      if (is_one_for_all(operands, type(rounds.front()).shape.size())) {
        whole.operands.push_back({std::nullopt, operands.front()});
        continue;
      }
      const std::optional<std::size_t> number = find(operands, steps + 1);
      if (!number) return std::nullopt;
      whole.operands.push_back({number, ValueId()});
      varies = true;
    }
    return varies ? std::optional(whole) : std::nullopt;
  }

  /// One value, which is repeated along the axis of a result of `rank` dimensions.
  bool is_one_for_all(const Rounds& operands, std::size_t rank) const {
    const ValueId one = operands.front();
    if (std::any_of(operands.begin(), operands.end(), [&](ValueId id) { return id != one; })) return false;
    const Shape& shape = type(one).shape;
    const std::size_t missing = rank - shape.size();
    return axis_ < missing || shape[axis_ - missing] == 1;
  }

  const Graph& graph_;
  const std::vector<const Node*>& producers_;
  const std::vector<int>& uses_;
  std::size_t axis_;
  const Rounds& parts_;
  std::vector<Whole> wholes_;
  std::map<Rounds, std::size_t> numbers_;
  std::map<std::size_t, int> reads_;  ///< of a whole, by others
  std::optional<std::size_t> found_;
};

/// The value of each whole in the new graph; the last one replaces the concatenation.
Status write(Rewriter& rewriter, const Node& concat, const std::vector<Whole>& wholes) {
  std::vector<ValueId> values;
  for (std::size_t w = 0; w < wholes.size(); ++w) {
    const Whole& whole = wholes[w];
    const bool slices = std::holds_alternative<SliceOperator>(whole.like->op), last = w + 1 == wholes.size();
    std::vector<ValueId> operands;
    if (slices) operands.push_back(rewriter.now(whole.like->inputs[0]));
    for (const Whole::Operand& operand : whole.operands)
      operands.push_back(operand.whole ? values[*operand.whole] : rewriter.now(operand.same));
    const Operator op = slices ? Operator(whole.slice) : whole.like->op;
    if (last) return rewriter.copy_as(concat, op, std::move(operands));
    WHET_TRY(const ValueId value, rewriter.emit(concat.name + "_rolled", op, std::move(operands)));
    values.push_back(value);
  }
  return ok_status();
}

}  // namespace

Result<Graph> roll_loops(const Graph& from) {
  std::vector<const Node*> producers(from.values.size(), nullptr);
  for (const Node& node : from.nodes) producers[node.output.index()] = &node;
  const std::vector<int> uses = count_uses(from);
  Rewriter rewriter(from);
  bool rolled = false;
  for (const Node& node : from.nodes) {
    if (std::holds_alternative<ConcatOperator>(node.op) && node.inputs.size() >= kFewestRounds) {
      const Roll roll(from, producers, uses, node);
      if (roll.succeeds()) {
        WHET_RETURN_IF_ERROR(write(rewriter, node, roll.wholes()));
        rolled = true;
        continue;
      }
    }
    WHET_RETURN_IF_ERROR(rewriter.copy(node));
  }
  if (!rolled) return from;
  return remove_dead_code(std::move(rewriter).finish());
}

}  // namespace whet
