// Merge terms: the reduce axes of a sum become one, which threads can share evenly.

#include "space/gpu/rows.h"
#include "space/gpu/window.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_merge_terms(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  const Element& element = d.dag().op(op).element();
  if (!element.reducer) return "";
  if (element.reduce_axes.size() < 2) return "it reduces one axis";
  if (window_of(d.dag(), op, std::nullopt)) return "it reduces windows that overlap";
  Scheduler trial = d.scheduler();
  if (!merge_terms(trial, op)) return "it reads several tensors, or one in several places";
  return std::nullopt;
}

std::vector<Derivation> apply_merge_terms(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op](ScheduleDraft& m) { merge_terms(m.s, op); });
  d.insert(op, 1, OpTreatment::open);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuMergeTermsRule{"merge-terms", "makes one axis of those that it reduces", why_not_merge_terms,
                              apply_merge_terms};

}  // namespace whet
