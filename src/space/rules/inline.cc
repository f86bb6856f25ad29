// Inline: an op without a reduction whose value is cheaper computed again than stored disappears into its readers.

#include "space/anatomy.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_inline(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::copied) return "it is a copy made for its reader";
  if (d.treatment(op) != OpTreatment::open) return "";
  if (is_output(d.dag(), op)) return "it is an output, which has to be stored";
  if (d.dag().op(op).element().reducer) return "it reduces, and every read would repeat the reduction";
  if (is_constant(d.dag(), op)) return "it depends on constants alone";
  if (!cheap_to_inline(d.tree(), op)) return "computing its value at each read costs more than storing it once";
  return std::nullopt;
}

std::vector<Derivation> apply_inline(const Derivation& from, OpId op) {
  Derivation d = from;
  d.set_treatment(op, OpTreatment::inlined);
  d.act([op](ScheduleDraft& m) { m.s.inline_op(op); });
  return {std::move(d)};
}

}  // namespace

const Rule kInlineRule{"inline", "computes it where it is read", why_not_inline, apply_inline};

}  // namespace whet
