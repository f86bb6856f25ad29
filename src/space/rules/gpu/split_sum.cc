// Split the sum: where a result has too few tiles for all SMs, parts of each sum are blocks of their own, and a second
// launch adds them up.

#include <algorithm>

#include "space/gpu/product_choices.h"
#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

constexpr std::int64_t kSmallTile = 32, kLargeTile = 128;

std::vector<Choice> parts_options(const ProductForm& form) {
  std::vector<Choice> options = single(parts_of_sum(form.depth));
  std::erase(options, Choice{1});
  return options;
}

std::int64_t tiles_of(const ProductForm& form, std::int64_t side) {
  return form.leads * ((form.rows + side - 1) / side) * ((form.columns + side - 1) / side);
}

std::optional<std::string> why_not_split_sum(const Derivation& d, OpId op) {
  if (!is_unfolded(d, op) || d.treatment(op) != OpTreatment::open) return "";
  if (d.name().find("parts") != std::string::npos) return "";
  const ProductForm form = unfolded_form(d, op);
  if (tiles_of(form, kLargeTile) >= std::int64_t{2} * d.target().gpu().sms)
    return "its result has large tiles enough for all SMs";
  if (parts_options(form).empty()) return "its sum is too short for parts";
  return std::nullopt;
}

std::vector<Derivation> apply_split_sum(const Derivation& from, OpId op) {
  Derivation d = from;
  const ProductForm form = unfolded_form(d, op);
  const std::int64_t axis = std::ssize(d.dag().op(op).shape) + (form.has_outer ? 1 : 0);
  const std::vector<Choice> options = parts_options(form);
  const auto enough = std::find_if(options.begin(), options.end(), [&](const Choice& parts) {
    return parts[0] * tiles_of(form, kSmallTile) >= d.target().gpu().sms;
  });
  const OwnDecisions own{d.prefix_for(op)};
  own.decide(d, {{"split", "parts of the sum, added up by a second launch", options, 0}}, {"split"},
             {{"split", enough == options.end() ? options.back() : *enough}}, {});
  d.call("parts");
  d.act([op, axis, name = own.name_of("split")](ScheduleDraft& m) { m.s.split_sum(op, axis, m.chosen(name)); });
  // The parts have the op's number and its decisions.
  d.insert(OpId(op.value + 1), 1, OpTreatment::open);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuSplitSumRule{"split-sum", "computes parts of its sum in different blocks, which a second launch adds up",
                            why_not_split_sum, apply_split_sum, true};

}  // namespace whet
