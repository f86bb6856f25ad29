#include "trial/candidate.h"

#include "base/hash.h"
#include "json/json.h"

namespace whet {

std::string to_json(const Candidate& candidate) {
  Json out = Json::object().set("sketch", candidate.sketch);
  for (const auto& [name, values] : candidate.choices)
    out.set(name, values.size() == 1 ? Json(values[0]) : Json::array_of(values));
  return dump(out);
}

std::uint64_t hash(const Candidate& candidate) {
  std::uint64_t seed = hash_bytes(candidate.sketch);
  for (const auto& [name, values] : candidate.choices) {
    seed = hash_combine(seed, hash_bytes(name));
    seed = hash_combine(seed, values.size());
    for (auto value : values) seed = hash_combine(seed, static_cast<std::uint64_t>(value));
  }
  return seed;
}

}  // namespace whet
