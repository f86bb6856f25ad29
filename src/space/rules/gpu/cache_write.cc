// Cache write: a thread's sums are registers while its part of the tile is computed.

#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

std::optional<std::string> why_not_cache_write_on_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::tiled) return "";
  if (fused_reader(d, op).valid()) return "it is in registers already, where the op that reads it is computed";
  return std::nullopt;
}

std::vector<Derivation> apply_cache_write_on_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  d.act([op](ScheduleDraft& m) { m.s.cache_write(op, m.launches.at(op).threads); });
  return {std::move(d)};
}

}  // namespace

const Rule kGpuCacheWriteRule{"cache-write", "keeps a thread's sums in registers", why_not_cache_write_on_gpu,
                              apply_cache_write_on_gpu};

}  // namespace whet
