// Unfold: both factors of a sum of products get copies in the order of the sum's own axes, so that a convolution is a
// product of two matrices, whose tiles are dense in block memory.

#include "space/gpu/product_form.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

constexpr std::int64_t kFewestProductRows = 8;

std::optional<std::string> why_not_unfold(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!d.dag().op(op).element().reducer) return "it does not reduce, so nothing is read for several of its elements";
  Scheduler trial = d.scheduler();
  const std::optional<UnfoldedSum> unfolded = unfold_sum(trial, op);
  if (!unfolded) return "it is no sum of products of which one factor has its rows, the other one its columns";
  const ProductForm form = form_of(trial.tree(), *unfolded);
  if (form.leads * form.rows < kFewestProductRows) return "it has few rows: each element of a factor is read seldom";
  const GpuTarget& gpu = d.target().gpu();
  if (legal_tiles(form, gpu, false).empty() && legal_tiles(form, gpu, true).empty())
    return "it is too small for tiles of a block";
  return std::nullopt;
}

std::vector<Derivation> apply_unfold(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op](ScheduleDraft& m) { unfold_sum(m.s, op); });
  d.insert(op, 2, OpTreatment::copied);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuUnfoldRule{"unfold", "copies both factors in the order of its axes: a product of two matrices",
                          why_not_unfold, apply_unfold};

}  // namespace whet
