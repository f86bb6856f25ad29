#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "import/call.h"

/// Branches and loops, which vanish while importing: both branches are computed, and a loop is copies of its body.
namespace whet {

/// The most copies of a loop's body.
constexpr std::int64_t kMostRounds = 4096;

/// What a branch or a round computes, in place of the node.
using Body = std::function<Result<ValueIds>(const ValueIds& inputs)>;

/// The results of the branch that a condition of one element chooses. Where it is not known, both are computed. Errors: results of
/// both that cannot be chosen from.
Result<ValueIds> if_else(NodeSite&, ValueId condition, const Body& yes, const Body& no);

/// The rounds of a loop, which are copies of its body. Values may decide which is the last one where there is a most of them: rounds
/// behind it are computed all the same, and change nothing.
class Rounds {
 public:
  /// `start`: what the loop carries into its first round.
  explicit Rounds(ValueIds start) : carried_(start), results_(std::move(start)) {}

  /// Takes the condition of the next round. `is_limited`: the loop ends without it, too. Errors: a condition that values decide where
  /// nothing else ends the loop; it may be one of two, the other of which is known.
  Status follow(NodeSite&, ValueId condition, bool is_limited);
  bool may_go_on() const { return may_go_on_; }
  /// Takes what a round leaves. Errors: values that do not keep their type where values decide whether the round counts.
  Status take(NodeSite&, ValueIds carried);

  /// What the next round gets.
  const ValueIds& carried() const { return carried_; }
  /// What the loop leaves if no other round follows.
  const ValueIds& results() const { return results_; }
  /// How many rounds there are.
  std::int64_t most() const { return most_; }
  /// How many of them count (i64, a scalar); none: all.
  const std::optional<ValueId>& count() const { return count_; }

 private:
  ValueIds carried_, results_;
  bool may_go_on_ = true;
  std::int64_t most_ = 0;
  std::optional<ValueId> counts_;  ///< whether the next round does; none: it does
  std::optional<ValueId> count_;
};

/// What a loop leaves that goes on while its condition, computed from what it carries, holds.
Result<ValueIds> while_loop(NodeSite&, const ValueIds& start, const Body& condition, const Body& body);

/// A tensor that a scan reads or writes, one step after the other.
struct Lane {
  std::int64_t axis = 0;
  bool backwards = false;
};
/// One copy of a body for each step of sequences. It gets what is carried and an element of each sequence, and gives what is carried
/// on and elements of results.
struct Scan {
  ValueIds states, sequences;
  std::vector<Lane> in,
      out;  ///< of each sequence, its axis counted from 0; of results (those left out: from the first axis on)
  std::int64_t steps = 0;
};
/// Fills in the steps. Errors: sequences that are not equally long; more than `copies` of the scan may take.
Status count_steps(NodeSite&, Scan&, std::int64_t copies = 1);
/// What is carried at last, and the results.
Result<ValueIds> scanned(NodeSite&, const Scan&, const Body&);

}  // namespace whet
