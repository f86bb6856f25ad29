#include "space/rules/gpu/own_decisions.h"

#include <algorithm>

namespace whet {

Choices OwnDecisions::of(const Choices& all) const {
  if (prefix.empty()) return all;
  Choices own;
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at)
    own.emplace(at->first.substr(prefix.size()), at->second);
  return own;
}

void OwnDecisions::decide(Derivation& d, const std::vector<Decision>& decisions, const std::vector<std::string>& names,
                          const Choices& preferred, const std::vector<Constraint>& constraints) const {
  const auto is_fresh = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (Decision decision : decisions) {
    if (!is_fresh(decision.name)) continue;
    const Choice& choice = preferred.at(decision.name);
    decision.name = name_of(decision.name);
    d.decide(std::move(decision), choice);
  }
  for (const Constraint& constraint : constraints) {
    const bool fresh = std::any_of(constraint.over.begin(), constraint.over.end(), is_fresh);
    const bool decided = std::all_of(constraint.over.begin(), constraint.over.end(),
                                     [&](const std::string& name) { return d.preferred().contains(name_of(name)); });
    if (!fresh || !decided) continue;
    Constraint own = constraint;
    for (std::string& name : own.over) name = name_of(name);
    if (!prefix.empty())
      own.violated = [self = *this, violated = constraint.violated](const Choices& c) { return violated(self.of(c)); };
    d.constrain(std::move(own));
  }
}

void OwnDecisions::consider(Derivation& d, const std::vector<Choices>& starts) const {
  std::vector<Choices> named;
  for (const Choices& start : starts) {
    Choices own;
    for (const auto& [name, choice] : start)
      if (d.preferred().contains(name_of(name))) own.emplace(name_of(name), choice);
    if (std::find(named.begin(), named.end(), own) == named.end()) named.push_back(std::move(own));
  }
  d.consider(std::move(named));
}

}  // namespace whet
