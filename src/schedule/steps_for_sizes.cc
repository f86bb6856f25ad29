#include "schedule/steps_for_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace whet {
namespace {

/// The step makes a new DAG, whose loops are counted anew.
bool makes_new_dag(const Step& step) {
  return std::holds_alternative<Merge>(step) || std::holds_alternative<CacheRead>(step) ||
         std::holds_alternative<Unfold>(step) || std::holds_alternative<Round>(step) ||
         std::holds_alternative<SplitSum>(step) || std::holds_alternative<SplitSoftmax>(step) ||
         std::holds_alternative<OnlineSoftmax>(step) || std::holds_alternative<Winograd>(step);
}

/// A schedule without the step computes the same by the same loops.
bool can_be_left_out(const Step& step) {
  const auto* tile = std::get_if<Tensorize>(&step);
  return std::holds_alternative<Annotate>(step) || std::holds_alternative<PrefetchRead>(step) ||
         (tile != nullptr && !is_tile_product(tile->intrinsic));  // whose loops alone are slow
}

/// The loop of which the step needs one number of iterations.
std::optional<LoopId> fixed_loop(const Step& step) {
  if (const auto* annotate = std::get_if<Annotate>(&step))
    if (annotate->kind == LoopKind::vectorized || annotate->kind == LoopKind::unrolled) return annotate->loop;
  if (const auto* rfactor = std::get_if<Rfactor>(&step)) return rfactor->loop;
  return std::nullopt;
}

constexpr std::int64_t kLineBytes = 64;
/// Rows as far apart as a multiple of this share so few sets of a first-level cache that a register tile's do not stay there.
constexpr std::int64_t kCrowdedBytes = 1024;

/// Follows the steps on the DAG of one size and on that of all.
class SizesFollower {
 public:
  SizesFollower(const ComputeDag& dag, const Steps& steps)
      : exact_(make_loop_tree(dag_at(dag, dag.at))), sized_(make_loop_tree(dag)) {
    if (Result<LoopTree> made = replay(exact_.dag, steps); made.ok()) made_ = *std::move(made);
    count_anew();
  }

  Status follow(const Step& step) {
    const std::size_t known = exact_.loops.size();
    WHET_RETURN_IF_ERROR(apply(exact_, step));
    if (const std::optional<LoopId> fixed = fixed_loop(step)) make_tile(*fixed);
    WHET_TRY(Step mine, renamed(step));
    if (auto* split = std::get_if<Split>(&mine); split && is_sized(sized_, split->loop))
      make_exact(*split, LoopId(static_cast<std::int64_t>(known) + 1));
    const std::size_t before = sized_.loops.size();
    const Status taken = take(mine);
    if (!taken.ok()) {
      if (!can_be_left_out(step)) return taken;
      if (const auto* tile = std::get_if<Tensorize>(&mine)) unroll_transpose(*tile);
      return ok_status();
    }
    if (makes_new_dag(step)) {
      count_anew();
    } else {
      for (std::size_t k = known; k < exact_.loops.size(); ++k)
        loops_.emplace_back(static_cast<std::int64_t>(before + (k - known)));
    }
    return ok_status();
  }

  Steps steps() && {
    pad_rows();
    return std::move(steps_);
  }

 private:
  Status take(const Step& step) {
    WHET_RETURN_IF_ERROR(apply(sized_, step));
    steps_.push_back(step);
    return ok_status();
  }

  /// A split along a size; `tile` is its inner loop in the schedule of one size.
  void make_exact(Split& split, LoopId tile) const {
    if (split.tail == Tail::overlap && is_in_tile(made_, tile) && all_sizes_have(split)) return;
    split.tail = Tail::guard;
    split.factor = of_whole_tiles(split.factor, extent_of(sized_, split.loop));
  }

  bool all_sizes_have(const Split& tile) const {
    LoopTree tree = sized_;
    return apply(tree, tile).ok() && tree.dag.sizes == sized_.dag.sizes;
  }

  /// About as many iterations as `block` has, such that all tiles that blocks of the schedule are cut into along a size are whole ones: of a
  /// block's last tile, if it overlapped the one before, the end could be no function of the size.
  std::int64_t of_whole_tiles(std::int64_t block, std::int64_t most) const {
    std::int64_t tile = 1;
    for (const Digit& digit : made_.digits)
      if (digit.extent == block && digit.factor > 1 && digit.factor < block && is_along_size(digit))
        if (tile = std::lcm(tile, digit.factor); tile > 2 * block) return block;
    std::int64_t whole = std::max(tile, (block + tile / 2) / tile * tile);
    if (whole > most) whole = block / tile * tile;
    return whole > 0 ? whole : block;
  }

  bool is_along_size(const Digit& digit) const {
    return is_sized(axis_of(sized_.dag.op(digit.op).element(), digit.axis));
  }

  void pad_rows() {
    const std::vector<OpId>& outputs = sized_.dag.outputs;
    for (std::size_t k = 0; k < sized_.dag.ops.size(); ++k) {
      const OpId id(static_cast<std::int64_t>(k));
      const Op& op = sized_.dag.op(id);
      if (!has_loops(sized_, id) || std::find(outputs.begin(), outputs.end(), id) != outputs.end()) continue;
      const bool sized = !op.sizes.empty() && op.sizes.back().defined();
      if (sized && op.shape.back() * size_of(op.dtype) % kCrowdedBytes == 0)
        (void)take(PadStorage{id, kLineBytes / size_of(op.dtype)});
    }
  }

  /// All of an axis that has a size becomes tiles of as many iterations as the loop of one size has.
  void make_tile(LoopId loop) {
    if (!is_sized(sized_, loops_[loop.index()])) return;
    if (take(Split{loops_[loop.index()], extent_of(exact_, loop), Tail::guard}).ok())
      loops_[loop.index()] = LoopId(static_cast<std::int64_t>(sized_.loops.size()) - 1);
  }

  /// A transposed tile that is none of its intrinsic: elements one behind the other, instead of loops that end anywhere. Of the large
  /// tile the inner loop alone, whose copies for remainders are long enough.
  void unroll_transpose(const Tensorize& tile) {
    if (tile.intrinsic != Intrinsic::transpose8 && tile.intrinsic != Intrinsic::transpose16) return;
    const std::vector<Item>& inside = sized_.loop(tile.loop).children;
    if (inside.size() != 1 || !inside.front().loop.valid()) return;
    const LoopId inner = inside.front().loop;
    (void)take(Annotate{inner, LoopKind::unrolled});
    if (tile.intrinsic == Intrinsic::transpose8) (void)take(Annotate{tile.loop, LoopKind::unrolled});
  }

  void count_anew() {
    loops_.clear();
    for (std::size_t k = 0; k < exact_.loops.size(); ++k) loops_.emplace_back(static_cast<std::int64_t>(k));
  }

  /// The step, which names loops that there are, with those that stand for them: in its text loops are the words l0, l1, ...
  Result<Step> renamed(const Step& step) const {
    std::string text;
    const std::string words = to_text(step) + " ";
    for (std::size_t begin = 0, end = 0; (end = words.find(' ', begin)) != std::string::npos; begin = end + 1) {
      const std::string word = words.substr(begin, end - begin);
      std::int64_t loop = -1;
      const bool is_loop =
          word.size() > 1 && word[0] == 'l' &&
          std::from_chars(word.data() + 1, word.data() + word.size(), loop).ptr == word.data() + word.size();
      text += (text.empty() ? "" : " ") +
              (is_loop ? fmt::format("l{}", loops_.at(static_cast<std::size_t>(loop)).value) : word);
    }
    WHET_TRY(Steps steps, parse_steps(text));
    return steps.at(0);
  }

  LoopTree exact_, sized_;
  LoopTree made_;              ///< of one size, with all steps; empty where they do not replay
  std::vector<LoopId> loops_;  ///< by the loops of one size
  Steps steps_;
};

}  // namespace

Result<Steps> steps_for_sizes(const ComputeDag& dag, const Steps& steps) {
  SizesFollower follower(dag, steps);
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (const Status followed = follower.follow(steps[k]); !followed.ok())
      return followed.error().at(fmt::format("step {} ({})", k + 1, to_text(steps[k])));
  return std::move(follower).steps();
}

}  // namespace whet
