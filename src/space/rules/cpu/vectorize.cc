// Vectorize and unroll: what is computed row by row goes in vectors along its innermost axis, the rows of a group
// unrolled.

#include "space/anatomy.h"
#include "space/rules/cpu/nest.h"

namespace whet {
namespace {

std::optional<std::string> why_not_vectorize(const Derivation& d, OpId op) {
  const bool grouped = d.treatment(op) == OpTreatment::nest && d.groups().contains(op);
  if (!grouped && d.treatment(op) != OpTreatment::under) return "";
  for (const auto& [reader, levels] : d.levels())
    if (d.treatment(op) == OpTreatment::under && d.only_reader(op) == reader)
      return "the tiles that read it decide how it is vectorized";
  if (reduces_innermost(d.dag(), op)) return "it reduces along its vectors, and rfactor applies to it";
  return std::nullopt;
}

std::vector<Derivation> apply_vectorize(const Derivation& from, OpId op) {
  Derivation d = from;
  vectorize(d, op);
  return {std::move(d)};
}

}  // namespace

const Rule kVectorizeRule{"vectorize", "vectorizes its innermost axis and unrolls the rows of a group",
                          why_not_vectorize, apply_vectorize};

}  // namespace whet
