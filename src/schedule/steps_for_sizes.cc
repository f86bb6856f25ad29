#include "schedule/steps_for_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace whet {
namespace {

/// The step makes a new DAG, whose loops are counted anew.
bool makes_new_dag(const Step& step) {
  return std::holds_alternative<Merge>(step) || std::holds_alternative<CacheRead>(step) ||
         std::holds_alternative<Unfold>(step) || std::holds_alternative<Round>(step) ||
         std::holds_alternative<SplitSum>(step) || std::holds_alternative<SplitSoftmax>(step) ||
         std::holds_alternative<Winograd>(step);
}

/// A schedule without the step computes the same by the same loops.
bool can_be_left_out(const Step& step) {
  return std::holds_alternative<Annotate>(step) || std::holds_alternative<PrefetchRead>(step) ||
         std::holds_alternative<Tensorize>(step);
}

/// The loop of which the step needs one number of iterations.
std::optional<LoopId> fixed_loop(const Step& step) {
  if (const auto* annotate = std::get_if<Annotate>(&step))
    if (annotate->kind == LoopKind::vectorized || annotate->kind == LoopKind::unrolled) return annotate->loop;
  if (const auto* rfactor = std::get_if<Rfactor>(&step)) return rfactor->loop;
  return std::nullopt;
}

/// Follows the steps on the DAG of one size and on that of all.
class SizesFollower {
 public:
  explicit SizesFollower(const ComputeDag& dag)
      : exact_(make_loop_tree(dag_at(dag, dag.at))), sized_(make_loop_tree(dag)) {
    count_anew();
  }

  Status follow(const Step& step) {
    const std::size_t known = exact_.loops.size();
    WHET_RETURN_IF_ERROR(apply(exact_, step));
    if (const std::optional<LoopId> fixed = fixed_loop(step)) make_tile(*fixed);
    WHET_TRY(Step mine, renamed(step));
    if (auto* split = std::get_if<Split>(&mine); split && is_sized(sized_, split->loop)) split->tail = Tail::guard;
    const std::size_t before = sized_.loops.size();
    const Status taken = take(mine);
    if (!taken.ok()) return can_be_left_out(step) ? ok_status() : taken;
    if (makes_new_dag(step)) {
      count_anew();
    } else {
      for (std::size_t k = known; k < exact_.loops.size(); ++k)
        loops_.emplace_back(static_cast<std::int64_t>(before + (k - known)));
    }
    return ok_status();
  }

  Steps steps() && { return std::move(steps_); }

 private:
  Status take(const Step& step) {
    WHET_RETURN_IF_ERROR(apply(sized_, step));
    steps_.push_back(step);
    return ok_status();
  }

  /// All of an axis that has a size becomes tiles of as many iterations as the loop of one size has.
  void make_tile(LoopId loop) {
    if (!is_sized(sized_, loops_[loop.index()])) return;
    if (take(Split{loops_[loop.index()], extent_of(exact_, loop), Tail::guard}).ok())
      loops_[loop.index()] = LoopId(static_cast<std::int64_t>(sized_.loops.size()) - 1);
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
  std::vector<LoopId> loops_;  ///< by the loops of one size
  Steps steps_;
};

}  // namespace

Result<Steps> steps_for_sizes(const ComputeDag& dag, const Steps& steps) {
  SizesFollower follower(dag);
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (const Status followed = follower.follow(steps[k]); !followed.ok())
      return followed.error().at(fmt::format("step {} ({})", k + 1, to_text(steps[k])));
  return std::move(follower).steps();
}

}  // namespace whet
