// Cross-thread reduction: the threads of a block, or some of them, add up one sum together. Sums that a row needs and what is
// computed of them are one launch.

#include <algorithm>

#include "space/anatomy.h"
#include "space/gpu/rows.h"
#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

bool is_open_sum(const Derivation& d, OpId op) {
  return d.treatment(op) == OpTreatment::open && d.dag().op(op).element().reducer.has_value() &&
         !is_output(d.dag(), op);
}

/// The sums that `result` needs and nothing else does, in their order.
std::vector<OpId> sums_of(const Derivation& d, OpId result) {
  std::vector<OpId> found{result};
  for (OpId op : d.ops()) {  // from the outputs to the inputs
    if (op >= result || !has_loops(d.tree(), op) || !is_open_sum(d, op)) continue;
    const std::vector<OpId> readers = consumers_of(d.dag(), op);
    const bool known = std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
      return !has_loops(d.tree(), reader) || std::find(found.begin(), found.end(), reader) != found.end();
    });
    if (known) found.push_back(op);
  }
  found.erase(found.begin());
  std::reverse(found.begin(), found.end());
  return found;
}

std::optional<RowsForm> rows_at(const Derivation& d, OpId op) { return rows_of(d.scheduler(), op, sums_of(d, op)); }

std::optional<std::string> why_not_cross_thread(const Derivation& d, OpId op) {
  const bool follows = d.treatment(op) == OpTreatment::follower;
  if (!follows && d.treatment(op) != OpTreatment::open) return "";
  if (fused_reader(d, op).valid()) return "";  // its reader is asked
  if (!d.dag().op(op).element().reducer && sums_of(d, op).empty()) return "it needs no sum";
  if (adds_parts(d, op)) return "it adds up parts of sums, which are few";
  for (OpId sum : sums_of(d, op))
    if (adds_parts(d, sum)) return "it needs sums of parts, which are few";
  if (!rows_at(d, op)) return "its sums are short, or not one for each row of it";
  return std::nullopt;
}

std::vector<Derivation> apply_cross_thread(const Derivation& from, OpId op) {
  Derivation d = from;
  const RowsForm form = *rows_at(d, op);
  const OwnDecisions own{d.prefix_for(op)};
  const std::vector<Constraint> constraints = rows_constraints(form, limits_of(d.target().gpu()));
  const std::vector<Choices> starts = rows_starts(form);
  const auto guess = std::find_if(starts.begin(), starts.end(), [&](const Choices& start) {
    return std::none_of(constraints.begin(), constraints.end(),
                        [&](const Constraint& constraint) { return constraint.violated(start).has_value(); });
  });
  if (guess == starts.end()) return {};
  own.decide(d, rows_decisions(form), {"threads", "rows", "vector", "min_blocks"}, *guess, constraints);
  own.consider(d, starts);
  d.call("across-threads");
  d.act([form, own](ScheduleDraft& m) { build_rows(m.s, form, own.of(m.choices)); });
  d.set_treatment(op, OpTreatment::nest);
  for (OpId sum : form.sums) d.set_treatment(sum, OpTreatment::under);
  // A thread can have one sum for itself; several that a row needs are worth a launch in any case.
  std::vector<Derivation> results{std::move(d)};
  if (form.sums.size() + (from.dag().op(op).element().reducer ? 1 : 0) == 1) results.push_back(from);
  return results;
}

}  // namespace

const Rule kGpuCrossThreadRule{"cross-thread-reduction", "has threads add up each of its sums together",
                               why_not_cross_thread, apply_cross_thread};

}  // namespace whet
