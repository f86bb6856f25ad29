#include <algorithm>

#include "import/onnx/importers.h"

// Branches and loops vanish while importing.

namespace whet {
namespace {

constexpr std::int64_t kMostRounds = 4096;

Status give_all(OnnxSite& site, const std::vector<ValueId>& values) {
  if (values.size() != site.output_count()) {
    return site.error("its body has " + std::to_string(values.size()) + " outputs; the node has " +
                      std::to_string(site.output_count()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) WHET_RETURN_IF_ERROR(site.give(values[i], i));
  return ok_status();
}

/// Both branches computed, and one of the two chosen; nothing when they differ in kind.
Result<std::optional<std::vector<ValueId>>> both(OnnxSite& site, const OnnxSubgraph& then_branch,
                                                 const OnnxSubgraph& else_branch) {
  const auto yes = site.inlined(then_branch, {}), no = site.inlined(else_branch, {});
  if (!yes.ok() || !no.ok() || yes->size() != no->size()) return std::optional<std::vector<ValueId>>();
  WHET_TRY(const ValueId condition, site.add("condition", ReshapeOperator{Shape{}}, {site.in(0)}));
  std::vector<ValueId> chosen;
  for (std::size_t i = 0; i < yes->size(); ++i) {
    if (site.type((*yes)[i]) != site.type((*no)[i])) return std::optional<std::vector<ValueId>>();
    WHET_TRY(const ValueId value, site.add("chosen", WhereOperator{}, {condition, (*yes)[i], (*no)[i]}));
    chosen.push_back(value);
  }
  return std::optional(chosen);
}

/// A loop's state: the round's number, whether it goes on, and what it carries.
struct Rounds {
  std::int64_t most = kMostRounds;
  bool limited = false;  ///< by a trip count
  bool go_on = true;
};

Result<Rounds> read_rounds(OnnxSite& site) {
  Rounds rounds;
  if (site.has(0)) {
    WHET_TRY(const std::vector<std::int64_t> count, site.known_integers(0, "number of rounds"));
    if (count.size() != 1) return site.error("its number of rounds is a list of " + std::to_string(count.size()));
    rounds.limited = true;
    rounds.most = std::max<std::int64_t>(count[0], 0);
    if (rounds.most > kMostRounds) {
      return site.error("has " + std::to_string(count[0]) + " rounds; at most " + std::to_string(kMostRounds) +
                        " are supported");
    }
  }
  if (site.has(1)) {
    WHET_TRY(const double condition, site.known_number(1, "condition"));
    rounds.go_on = condition != 0;
  }
  return rounds;
}

/// The rows that a loop collected, one above the other.
Result<ValueId> stacked(OnnxSite& site, const std::vector<ValueId>& rows) {
  std::vector<ValueId> parts;
  for (ValueId row : rows) {
    Shape shape = site.type(row).shape;
    shape.insert(shape.begin(), 1);
    WHET_TRY(const ValueId part, site.add("row", ReshapeOperator{shape}, {row}));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  return site.add("rows", ConcatOperator{0}, parts);
}

}  // namespace

Status import_if(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const auto then_branch, site.subgraph("then_branch"));
  WHET_TRY(const auto else_branch, site.subgraph("else_branch"));
  if (site.dtype(0) != DType::boolean || num_elements(site.shape(0)) != 1) {
    return site.error("its condition is " + to_string(site.type(site.in(0))) + "; expected one boolean");
  }
  if (site.constant(0) == nullptr) {
    WHET_TRY(const auto chosen, both(site, *then_branch, *else_branch));
    if (chosen) return give_all(site, *chosen);
  }
  WHET_TRY(const double condition, site.known_number(0, "condition"));
  WHET_TRY(const std::vector<ValueId> values, site.inlined(condition != 0 ? *then_branch : *else_branch, {}));
  return give_all(site, values);
}

/// One copy of the body a round, where the number of rounds is known.
Status import_loop(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(0, 65536));
  WHET_TRY(const auto body, site.subgraph("body"));
  WHET_TRY(Rounds rounds, read_rounds(site));
  std::vector<ValueId> carried;
  for (std::size_t i = 2; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    carried.push_back(site.in(i));
  }
  if (body->outputs.size() < carried.size() + 1) {
    return site.error("its body has " + std::to_string(body->outputs.size()) + " outputs; expected at least " +
                      std::to_string(carried.size() + 1));
  }
  std::vector<std::vector<ValueId>> rows(body->outputs.size() - 1 - carried.size());
  std::int64_t round = 0;
  for (; rounds.go_on && round < rounds.most; ++round) {
    Tensor number(DType::i64, {});
    number.set_integer(0, round);
    std::vector<ValueId> inputs = {site.add_constant("round", number), site.add_scalar("goes_on", DType::boolean, 1)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    WHET_TRY(const std::vector<ValueId> outputs, site.inlined(*body, inputs));
    const std::optional<Tensor> condition = site.value_of(outputs[0]);
    if (!condition || condition->size() != 1) {
      return site.error("its condition depends on values; only loops whose number of rounds is known are supported");
    }
    rounds.go_on = condition->get(0) != 0;
    std::copy_n(outputs.begin() + 1, carried.size(), carried.begin());
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(outputs[1 + carried.size() + k]);
  }
  if (rounds.go_on && !rounds.limited) {
    return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
  }
  std::vector<ValueId> results = carried;
  for (const std::vector<ValueId>& list : rows) {
    if (list.empty()) return site.error("runs no round, and so collects nothing; this is not supported");
    WHET_TRY(const ValueId all, stacked(site, list));
    results.push_back(all);
  }
  return give_all(site, results);
}

}  // namespace whet
