// Rfactor: a reduction along the innermost axis of what it reads goes in vectors, a partial result a lane.

#include "space/anatomy.h"
#include "space/rules/cpu/nest.h"

namespace whet {
namespace {

std::optional<std::string> why_not_rfactor(const Derivation& d, OpId op) {
  if (!d.dag().op(op).element().reducer) return "it does not reduce";
  if (d.treatment(op) != OpTreatment::nest && d.treatment(op) != OpTreatment::under) return "";
  if (!reduces_innermost(d.dag(), op))
    return "it does not reduce along contiguous memory, so its own axes are vectorized";
  return std::nullopt;
}

std::vector<Derivation> apply_rfactor(const Derivation& from, OpId op) {
  Derivation d = from;
  vectorize(d, op);
  return {std::move(d)};
}

}  // namespace

const Rule kRfactorRule{"rfactor", "keeps one partial result for each lane", why_not_rfactor, apply_rfactor};

}  // namespace whet
