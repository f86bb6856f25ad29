// Special treatment for Winograd: a 3x3 convolution of stride 1 becomes transforms, which are scheduled at once (their
// loops over constant matrices are unrolled away), and products of matrices, which the other rules go on with.

#include "space/cpu/winograd.h"

#include "space/rules/cpu/nest.h"

namespace whet {
namespace {

std::optional<std::string> why_not_winograd(const Derivation& d, OpId op) {
  if (d.name().starts_with("winograd")) return "";
  const std::optional<Anatomy> anatomy = find_anatomy(d.dag());
  if (!anatomy || anatomy->anchor != op) return "it is not the only reduction of the task";
  const Result<WinogradDag> changed = winograd(d.dag(), op, 4);
  if (!changed.ok()) return changed.error().message;
  const std::int64_t in = changed->dag.op(changed->ops.input).shape.back(), out = d.dag().op(op).shape.back();
  if (in < lanes_of(d, op) || out < lanes_of(d, op)) return "it has fewer channels than a vector has lanes";
  return std::nullopt;
}

std::vector<Derivation> apply_winograd(const Derivation& from, OpId op) {
  std::vector<Derivation> results;
  const Anatomy anatomy = *find_anatomy(from.dag());
  for (const std::int64_t m : {4, 2}) {
    Derivation d = from;
    const OpId products = winograd(from.dag(), op, m)->ops.products, weights = winograd(from.dag(), op, m)->ops.weights;
    d.call("winograd" + std::to_string(m));
    d.act([anatomy, m, lanes = lanes_of(d, op)](ScheduleDraft& draft) { winograd_phases(draft.s, anatomy, m, lanes); });
    d.start_over();
    // The transforms have their schedules already.
    for (OpId other : d.ops())
      if (other != products && other != weights)
        d.set_treatment(other,
                        d.tree().place(other).kind == PlaceKind::inlined ? OpTreatment::inlined : OpTreatment::nest);
    results.push_back(std::move(d));
  }
  return results;
}

}  // namespace

const Rule kWinogradRule{"winograd",
                         "computes a 3x3 convolution by Winograd's algorithm: transforms, products, transforms",
                         why_not_winograd,
                         apply_winograd,
                         true,
                         false};

}  // namespace whet
