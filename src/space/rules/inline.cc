// Inline: an op without a reduction whose value is cheaper computed again than stored disappears into its readers.

#include "space/anatomy.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::copied) return "it is the copy that its reader is to have";
  if (d.treatment(op) != OpTreatment::open) return "";
  if (is_output(d.dag(), op)) return "it is an output, which has to be stored";
  if (d.dag().op(op).element().reducer) return "it reduces: every read would do all of that again";
  if (is_constant(d.dag(), op)) return "it depends on constants alone";
  if (!cheap_to_inline(d.tree(), op)) return "its value is dearer computed again at each read than stored once";
  return std::nullopt;
}

std::vector<Derivation> apply(const Derivation& from, OpId op) {
  Derivation d = from;
  d.set_treatment(op, OpTreatment::inlined);
  d.act([op](ScheduleDraft& m) { m.s.inline_op(op); });
  return {std::move(d)};
}

}  // namespace

const Rule kInlineRule{"inline", "computed where it is read", why_not, apply};

}  // namespace whet
