#include "import/parts/shape.h"
#include "import/torch/rows.h"

// Branches and loops vanish while importing.

namespace whet::torch {
namespace {

constexpr std::int64_t kMostRounds = 4096;

Status give_values(TorchSite& site, const std::vector<ValueId>& values) {
  if (values.size() < site.output_count())
    return site.error("its body has " + std::to_string(values.size()) + " outputs; the node has " +
                      std::to_string(site.output_count()));
  for (std::size_t i = 0; i < site.output_count(); ++i) WHET_RETURN_IF_ERROR(site.pass(values[i], i));
  return ok_status();
}

/// Whether a number or a tensor of one element is true; none where it is not known.
Result<std::optional<bool>> known_truth(TorchSite& site, std::string_view name) {
  if (!site.is_tensor(name)) {
    WHET_TRY(const bool truth, site.flag(name));
    return std::optional(truth);
  }
  WHET_TRY(const ValueId condition, site.tensor(name));
  if (num_elements(site.shape(condition)) != 1)
    return site.error("its condition is " + to_string(site.type(condition)) + "; expected one element");
  const Tensor* known = site.constant(condition);
  return known == nullptr ? std::optional<bool>() : std::optional(known->get(0) != 0);
}

Status give_program(TorchSite& site) {
  WHET_TRY(const auto body, site.program("program"));
  WHET_TRY(const std::vector<ValueId> operands, site.tensors("operands"));
  WHET_TRY(const std::vector<ValueId> values, site.inlined(*body, operands));
  return give_values(site, values);
}

/// An unknown condition computes both branches, and chooses.
Status import_cond(TorchSite& site) {
  WHET_TRY(const auto then_program, site.program("then_program"));
  WHET_TRY(const auto else_program, site.program("else_program"));
  WHET_TRY(const std::vector<ValueId> operands, site.tensors("operands"));
  WHET_TRY(const auto known, known_truth(site, "condition"));
  if (known) {
    WHET_TRY(const std::vector<ValueId> values, site.inlined(*known ? *then_program : *else_program, operands));
    return give_values(site, values);
  }
  WHET_TRY(const std::vector<ValueId> yes, site.inlined(*then_program, operands));
  WHET_TRY(const std::vector<ValueId> no, site.inlined(*else_program, operands));
  WHET_TRY(ValueId condition, site.tensor("condition"));
  WHET_TRY(condition, site.cast("truth", condition, DType::boolean));
  WHET_TRY(condition, site.add("condition", ReshapeOperator{Shape{}}, {condition}));
  if (yes.size() != no.size() || yes.size() < site.output_count())
    return site.error("its branches differ in their outputs");
  for (std::size_t i = 0; i < site.output_count(); ++i) {
    if (!site.are_alike(yes[i], no[i]))
      return site.error("its branches give " + to_string(site.type(yes[i])) + " and " + to_string(site.type(no[i])));
    WHET_RETURN_IF_ERROR(site.give(site.either(condition, yes[i], no[i]), i));
  }
  return ok_status();
}

/// One copy of the body a round, where each round knows whether it is the last.
Status import_while_loop(TorchSite& site) {
  WHET_TRY(const auto condition, site.program("condition_program"));
  WHET_TRY(const auto body, site.program("program"));
  WHET_TRY(std::vector<ValueId> values, site.tensors("carried"));
  WHET_TRY(const std::vector<ValueId> others, site.tensors("operands"));
  const std::size_t carried = values.size();
  values.insert(values.end(), others.begin(), others.end());
  for (std::int64_t round = 0;; ++round) {
    WHET_TRY(const std::vector<ValueId> conditions, site.inlined(*condition, values));
    if (conditions.size() != 1)
      return site.error("its condition has " + std::to_string(conditions.size()) + " results; expected one");
    WHET_TRY(const bool goes_on, site.goes_on(conditions[0]));
    if (!goes_on) break;
    if (round == kMostRounds) return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
    WHET_TRY(const std::vector<ValueId> next, site.inlined(*body, values));
    if (next.size() != carried)
      return site.error("its body has " + std::to_string(next.size()) + " outputs; expected " +
                        std::to_string(carried));
    std::copy(next.begin(), next.end(), values.begin());
  }
  values.resize(carried);
  return give_values(site, values);
}

/// One copy of the body for each row of its sequences.
Status import_map(TorchSite& site) {
  WHET_TRY(const auto body, site.program("program"));
  WHET_TRY(const std::vector<ValueId> sequences, site.tensors("sequences"));
  WHET_TRY(const std::vector<ValueId> others, site.tensors("operands"));
  if (sequences.empty() || site.rank(sequences[0]) == 0) return site.error("maps over no sequence");
  const std::int64_t rows = site.shape(sequences[0])[0];
  if (rows < 1 || rows > kMostRounds)
    return site.error("maps over " + std::to_string(rows) + " rows; 1 to " + std::to_string(kMostRounds) +
                      " are supported");
  std::vector<std::vector<ValueId>> results(site.output_count());
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<ValueId> inputs;
    for (const ValueId sequence : sequences) {
      if (site.rank(sequence) == 0 || site.shape(sequence)[0] != rows)
        return site.error("its sequences differ in length");
      WHET_TRY(const ValueId one, sliced(site, sequence, {row}, {row + 1}, std::vector<std::int64_t>{0}, {1}));
      WHET_TRY(const ValueId element, squeezed(site, one, std::vector<std::int64_t>{0}));
      inputs.push_back(element);
    }
    inputs.insert(inputs.end(), others.begin(), others.end());
    WHET_TRY(const std::vector<ValueId> values, site.inlined(*body, inputs));
    if (values.size() < results.size()) return site.error("its body has " + std::to_string(values.size()) + " outputs");
    for (std::size_t i = 0; i < results.size(); ++i) {
      WHET_TRY(const ValueId part, unsqueezed(site, values[i], {0}));
      results[i].push_back(part);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    WHET_RETURN_IF_ERROR(rows == 1 ? site.give(results[i][0], i) : site.give(ConcatOperator{0}, results[i], i));
  return ok_status();
}

Status import_set_grad(TorchSite& site) { return give_program(site); }
Status import_autocast(TorchSite& site) {
  WHET_TRY(const bool enabled, site.flag("enabled"));
  if (enabled)
    return site.error(
        "computes in a type that torch chooses by itself; in Python: export the model outside of torch.autocast");
  return give_program(site);
}

}  // namespace

TorchRows control_rows() {
  static constexpr TorchRow kRows[] = {
      {"higher_order.cond", "", "condition then_program else_program operands", import_cond},
      {"higher_order.map_impl", "", "program sequences operands", import_map},
      {"higher_order.while_loop", "", "condition_program program carried operands", import_while_loop},
      {"higher_order.wrap_with_autocast", "", "device dtype enabled cache program operands...", import_autocast},
      {"higher_order.wrap_with_set_grad_enabled", "", "enabled program operands...", import_set_grad},
  };
  return kRows;
}

}  // namespace whet::torch
