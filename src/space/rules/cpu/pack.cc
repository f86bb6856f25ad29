// Packing, the cache read of constants: weights are laid out ahead of time in the order in which the tiles read them.

#include <algorithm>

#include "schedule/pack.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

std::vector<OpId> packable(const Derivation& d, OpId op) {
  std::vector<OpId> constants;
  for (OpId input : inputs_of(d.dag(), op)) {
    const bool given = d.treatment(input) == OpTreatment::input && is_constant(d.dag(), input);
    if (!given && d.treatment(input) != OpTreatment::ahead) continue;
    int reads = 0;
    for_each(d.dag().op(op).element().body, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      reads += load && load->source.value == input.value;
    });
    if (reads == 1 && !is_read_where_data_say(d.dag(), input, op)) constants.push_back(input);
  }
  return constants;
}

std::optional<std::string> why_not_pack(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::tiled)
    return "it is not tiled, so it reads weights in the order in which the model stores them";
  if (packable(d, op).empty()) return "it reads no constant at exactly one place";
  return std::nullopt;
}

std::vector<Derivation> apply_pack(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op, constants = packable(d, op)](ScheduleDraft& m) {
    for (OpId constant : constants) m.s.pack(constant, op);
  });
  return {std::move(d)};
}

}  // namespace

const Rule kPackRule{"pack", "lays its weights out in the order in which its tiles read them", why_not_pack,
                     apply_pack};

}  // namespace whet
