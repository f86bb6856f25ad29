#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace whet {

/// A point of a DesignSpace: a sketch and one choice per decision, by the decision's name. Tile decisions are the
/// extents of the levels outer to inner without the outermost (it follows); others one number.
struct Candidate {
  std::string sketch;
  std::map<std::string, std::vector<std::int64_t>> choices;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

/// `{"sketch":"tile+acc","oc":[2,16],...}`: one line of JSON with readable names, keys sorted.
std::string to_json(const Candidate&);
std::uint64_t hash(const Candidate&);

}  // namespace whet
