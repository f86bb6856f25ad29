// Constant tensors: what depends on constants alone and is copied tile by tile is computed once, ahead of time, in the
// order in which the tiles are read.

#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_ahead_on_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!is_constant(d.dag(), op)) return "it depends on more than constants";
  const OpId reader = d.only_reader(op);
  if (!reader.valid() || d.treatment(reader) != OpTreatment::under) return "no tiles copy it";
  return std::nullopt;
}

std::vector<Derivation> apply_ahead_on_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op, reader = d.only_reader(op)](ScheduleDraft& m) { m.s.pack(op, reader); });
  d.set_treatment(op, OpTreatment::ahead);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuConstantTensorsRule{"constant-tensors", "computes it once, ahead of time, in the order of its tiles",
                                   why_not_ahead_on_gpu, apply_ahead_on_gpu};

}  // namespace whet
