// Cache read: the parts of both factors that a step of the sum needs are in block memory; all threads of the block fill it
// together, some steps ahead.

#include "space/gpu/product_choices.h"
#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

std::optional<std::string> why_not_cache_read_on_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::tiled && is_unfolded(d, op)) return std::nullopt;
  return d.dag().op(op).element().reducer ? "it is not tiled, so it reads nothing again" : "";
}

std::vector<Derivation> apply_cache_read_on_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  const ProductForm form = unfolded_form(d, op);
  const OwnDecisions own{d.prefix_for(op)};
  const Choices guess{{"stages", {2}}, {"pad", {0}}};
  own.decide(d, product_decisions(form), {"stages", "pad"}, guess, product_constraints(form, d.target().gpu()));
  d.act([op, form, own](ScheduleDraft& m) {
    copy_operands(m.s, form, tile_of(own.of(m.choices)), m.launches.at(op).depth);
  });
  d.set_treatment(form.left, OpTreatment::under);
  d.set_treatment(form.right, OpTreatment::under);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuCacheReadRule{"cache-read",
                             "has the parts of its factors in block memory, which all threads fill together",
                             why_not_cache_read_on_gpu, apply_cache_read_on_gpu};

}  // namespace whet
