// Cache write: while the reduction of a register tile runs, its sums are registers.

#include "space/rules/rule.h"

namespace whet {
namespace {

std::optional<std::string> why_not_cache_write(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::tiled) return "it is not tiled";
  return std::nullopt;
}

std::vector<Derivation> apply_cache_write(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op](ScheduleDraft& m) {
    // Where the op that follows reads the tile from registers, they are those already.
    if (m.s.tree().place(op).stored_in == StoredIn::memory) m.s.cache_write(op, m.levels.at(op).cell.back());
  });
  return {std::move(d)};
}

}  // namespace

const Rule kCacheWriteRule{"cache-write", "keeps the sums of a register tile in registers", why_not_cache_write,
                           apply_cache_write};

}  // namespace whet
