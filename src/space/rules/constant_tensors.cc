// Simplify with constant tensors: an op that depends on constants alone is computed once, when constants are packed, if
// the one op that reads it has it packed.

#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_constant_tensors(const Derivation& d, OpId op) {
  if (!is_constant(d.dag(), op)) return "it depends on more than constants";
  if (d.treatment(op) != OpTreatment::open) return "";
  const OpId reader = d.only_reader(op);
  if (!reader.valid()) return "the ops that read it are not exactly one op, and the packing serves one";
  if (!d.dag().op(reader).element().reducer) return "its reader does not reduce, so it is read only once";
  return std::nullopt;
}

std::vector<Derivation> apply_constant_tensors(const Derivation& from, OpId op) {
  Derivation d = from;
  d.set_treatment(op, OpTreatment::ahead);
  return {std::move(d)};
}

}  // namespace

const Rule kConstantTensorsRule{"constant-tensors", "computes it once, ahead of time, with the packed weights",
                                why_not_constant_tensors, apply_constant_tensors};

}  // namespace whet
