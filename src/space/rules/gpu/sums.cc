#include "space/rules/gpu/sums.h"

#include <algorithm>
#include <cstdlib>

#include "space/gpu/product_choices.h"

namespace whet {

bool is_unfolded(const Derivation& d, OpId op) {
  if (!d.dag().op(op).element().reducer) return false;
  const std::vector<OpId> inputs = inputs_of(d.dag(), op);
  const auto is_copy = [&](OpId input) { return d.treatment(input) == OpTreatment::copied; };
  // As `unfold_sum` numbers them.
  return inputs.size() == 2 && is_copy(inputs[0]) && is_copy(inputs[1]) &&
         std::abs(inputs[0].value - inputs[1].value) == 1;
}

ProductForm unfolded_form(const Derivation& d, OpId op) {
  const std::vector<OpId> inputs = inputs_of(d.dag(), op);
  UnfoldedSum unfolded{.left = std::min(inputs[0], inputs[1]), .right = std::max(inputs[0], inputs[1]), .sum = op};
  const auto parts = d.preferred().find("split");
  const bool in_parts = parts != d.preferred().end() && d.decided_first(op);
  const Element& element = d.dag().op(op).element();
  unfolded.has_lead = element.axes.size() > (in_parts ? 3u : 2u);
  unfolded.has_outer = element.reduce_axes.size() > 1;
  const std::int64_t lead = in_parts ? 1 : 0;
  for_each(element.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    if (!load || OpId(load->source.value) != unfolded.right || !unfolded.has_lead) return;
    for (const Expr& index : load->index) unfolded.batched = unfolded.batched || uses(index, VarId(lead));
  });
  ProductForm form = form_of(d.tree(), unfolded);
  if (in_parts) form.depth *= parts->second[0];
  if (const OpId reader = fused_reader(d, op); reader.valid()) form.output = reader;
  return form;
}

std::vector<Choices> legal_tiles(const ProductForm& form, const GpuTarget& gpu, bool in_parts) {
  const std::vector<Constraint> constraints = product_constraints(form, gpu);
  std::vector<Choices> tiles = product_tiles(form, gpu.sms);
  std::erase_if(tiles, [&](const Choices& tile) {
    return (tile.at("split")[0] > 1) != in_parts ||
           std::any_of(constraints.begin(), constraints.end(),
                       [&](const Constraint& constraint) { return constraint.violated(tile).has_value(); });
  });
  return tiles;
}

bool adds_parts(const Derivation& d, OpId op) {
  const std::vector<OpId> inputs = inputs_of(d.dag(), op);
  return d.preferred().contains("split") && inputs.size() == 1 && d.decided_first(inputs[0]);
}

OpId fused_reader(const Derivation& d, OpId op) {
  const OpId reader = d.only_reader(op);
  return reader.valid() && d.treatment(reader) == OpTreatment::follower ? reader : OpId();
}

}  // namespace whet
