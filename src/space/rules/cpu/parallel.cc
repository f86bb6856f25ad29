// Parallel: an output that is not tiled gets a nest whose outer loops are shared out among the workers, in groups of
// rows where others are to be computed under it.

#include "space/anatomy.h"
#include "space/rules/cpu/nest.h"

namespace whet {
namespace {

std::optional<std::string> why_not_parallel(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!is_output(d.dag(), op)) return "it is no output: a later rule places it";
  return std::nullopt;
}

std::vector<Derivation> apply_parallel(const Derivation& from, OpId op) {
  Derivation d = from;
  make_nest(d, op);
  return {std::move(d)};
}

}  // namespace

const Rule kParallelRule{"parallel", "shares its rows out among the workers", why_not_parallel, apply_parallel};

}  // namespace whet
