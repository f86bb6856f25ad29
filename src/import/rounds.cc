#include "import/rounds.h"

#include <algorithm>
#include <utility>

#include "import/parts/shape.h"

namespace whet {
namespace {

std::string kind_named(const NodeSite& site, ValueId x) {
  return site.is_sequence(x) ? "a list" : to_string(site.type(x));
}

bool can_be_either(const NodeSite& site, ValueId a, ValueId b) {
  return !site.is_sequence(a) && !site.is_sequence(b) && site.are_alike(a, b);
}

}  // namespace

Result<ValueIds> if_else(NodeSite& site, ValueId condition, const Body& yes, const Body& no) {
  if (num_elements(site.shape(condition)) != 1)
    return site.error("its condition is " + to_string(site.type(condition)) + "; expected one element");
  if (const Tensor* known = site.constant(condition)) return known->get(0) != 0 ? yes({}) : no({});
  WHET_TRY(const ValueIds a, yes({}));
  WHET_TRY(const ValueIds b, no({}));
  if (a.size() != b.size())
    return site.error("its branches have " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                      " outputs");
  WHET_TRY(condition, site.cast("truth", condition, DType::boolean));
  WHET_TRY(condition, site.add("condition", ReshapeOperator{Shape{}}, {condition}));
  ValueIds results = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!can_be_either(site, a[i], b[i]))
      return site.error("its branches give " + kind_named(site, a[i]) + " and " + kind_named(site, b[i]));
    WHET_TRY(results[i], site.either(condition, a[i], b[i]));
  }
  return results;
}

Status Rounds::follow(NodeSite& site, ValueId condition, bool is_limited) {
  const std::optional<bool> part = site.known_part(condition);
  const bool is_one = site.dtype(condition) == DType::boolean && num_elements(site.shape(condition)) == 1;
  if (site.constant(condition) != nullptr || !is_one || (!is_limited && !part)) {
    WHET_TRY(may_go_on_, site.goes_on(condition));
    return ok_status();
  }
  may_go_on_ = part.value_or(true);
  if (!may_go_on_) return ok_status();
  WHET_TRY(condition, site.add("goes_on", ReshapeOperator{Shape{}}, {condition}));
  if (counts_) {
    WHET_TRY(condition, site.add("counts", BinaryOperator{BinaryKind::logical_and}, {*counts_, condition}));
  }
  counts_ = condition;
  return ok_status();
}

Status Rounds::take(NodeSite& site, ValueIds carried) {
  const std::int64_t round = most_++;
  carried_ = std::move(carried);
  if (!counts_) {
    results_ = carried_;
    return ok_status();
  }
  WHET_TRY(const ValueId one, site.cast("one_round", *counts_, DType::i64));
  const ValueId before = count_ ? *count_ : site.add_scalar("rounds", DType::i64, static_cast<double>(round));
  WHET_TRY(count_, site.add("rounds", BinaryOperator{BinaryKind::add}, {before, one}));
  for (std::size_t k = 0; k < results_.size(); ++k) {
    const ValueId was = results_[k], is = carried_[k];
    if (was == is) continue;
    if (!can_be_either(site, was, is))
      return site.error("carries " + kind_named(site, was) + ", which becomes " + kind_named(site, is) +
                        ", and values decide how many rounds there are; this is not supported");
    WHET_TRY(results_[k], site.either(*counts_, is, was));
  }
  return ok_status();
}

Result<ValueIds> while_loop(NodeSite& site, const ValueIds& start, const Body& condition, const Body& body) {
  Rounds rounds(start);
  while (true) {
    WHET_TRY(const ValueIds conditions, condition(rounds.carried()));
    if (conditions.size() != 1)
      return site.error("its condition has " + std::to_string(conditions.size()) + " outputs; expected one");
    WHET_RETURN_IF_ERROR(rounds.follow(site, conditions[0], false));
    if (!rounds.may_go_on()) return rounds.results();
    if (rounds.most() == kMostRounds)
      return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
    WHET_TRY(const ValueIds next, body(rounds.carried()));
    if (next.size() != start.size())
      return site.error("its body has " + std::to_string(next.size()) + " outputs; expected " +
                        std::to_string(start.size()));
    WHET_RETURN_IF_ERROR(rounds.take(site, next));
  }
}

Status count_steps(NodeSite& site, Scan& scan, std::int64_t copies) {
  for (std::size_t k = 0; k < scan.sequences.size(); ++k) {
    const Shape& shape = site.shape(scan.sequences[k]);
    const auto d = static_cast<std::size_t>(scan.in[k].axis);
    if (d >= shape.size()) return site.error("scans " + to_string(site.type(scan.sequences[k])) + "; expected steps");
    if (k == 0) scan.steps = shape[d];
    if (shape[d] != scan.steps)
      return site.error("its sequences have " + std::to_string(scan.steps) + " and " + std::to_string(shape[d]) +
                        " steps");
  }
  const std::int64_t most = kMostRounds / copies;
  if (scan.steps < 1 || scan.steps > most)
    return site.error("has " + std::to_string(scan.steps) + " steps; 1 to " + std::to_string(most) + " are supported");
  constexpr std::int64_t kMostParts = std::int64_t{1} << 17;
  const std::size_t values = scan.states.size() + scan.sequences.size() + scan.out.size();
  if (copies * (scan.steps + 1) <= kMostParts / static_cast<std::int64_t>(values)) return ok_status();
  return site.error("scans " + std::to_string(values) + " values in " + std::to_string(scan.steps) +
                    " steps; at most " + std::to_string(kMostParts) + " parts of values are supported");
}

Result<ValueIds> scanned(NodeSite& site, const Scan& scan, const Body& body) {
  ValueIds results = scan.states;
  std::vector<ValueIds> rows;
  for (std::int64_t t = 0; t < scan.steps; ++t) {
    ValueIds inputs = results;
    for (std::size_t k = 0; k < scan.sequences.size(); ++k) {
      const std::int64_t at = scan.in[k].backwards ? scan.steps - 1 - t : t;
      const Ints axis = {scan.in[k].axis};
      WHET_TRY(const ValueId one, sliced(site, scan.sequences[k], {at}, {at + 1}, axis, {1}));
      WHET_TRY(inputs.emplace_back(), squeezed(site, one, axis));
    }
    WHET_TRY(const ValueIds outputs, body(inputs));
    if (outputs.size() < results.size())
      return site.error("its body has " + std::to_string(outputs.size()) + " outputs; expected at least " +
                        std::to_string(results.size()));
    rows.resize(outputs.size() - results.size());
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(outputs[results.size() + k]);
    std::copy_n(outputs.begin(), results.size(), results.begin());
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Lane lane = k < scan.out.size() ? scan.out[k] : Lane{};
    if (lane.backwards) std::reverse(rows[k].begin(), rows[k].end());
    WHET_TRY(results.emplace_back(), stacked(site, rows[k], lane.axis));
  }
  return results;
}

}  // namespace whet
