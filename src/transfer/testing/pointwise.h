#pragma once

#include <string>
#include <utility>
#include <vector>

#include "artifact/kernel.h"
#include "compute/dag.h"
#include "records/record_base.h"
#include "space/space.h"

/// Pointwise convolutions, and a record base of one.
namespace whet::testing_transfer {

inline const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");

inline ComputeDag pointwise(std::int64_t size, std::int64_t from, std::int64_t to) {
  const auto n = [](std::int64_t value) { return std::to_string(value); };
  return parse_dag("x = PLACEHOLDER [1, " + n(size) + ", " + n(size) + ", " + n(from) + "]\nw = PLACEHOLDER [1, 1, " +
                   n(from) + ", " + n(to) +
                   "] const\nconv(n, y, q, o) += (x[n, (y + a), (q + b), i]*w[a, b, i, o]) for n in 1, y in " +
                   n(size) + ", q in " + n(size) + ", o in " + n(to) + ", a in 1, b in 1, i in " + n(from) +
                   "  # conv n:batch y:row q:column o:out_channel a:tap b:tap i:in_channel\nreturn conv\n")
      .value();
}

/// What the base's network has.
inline ComputeDag source() { return pointwise(28, 64, 192); }
/// Candidates of its space: first the other sketches' guesses.
inline std::vector<Candidate> some(std::size_t n) {
  const DesignSpace space = make_space(source(), kTarget);
  std::vector<Candidate> all = space.seeds();
  Rng rng(3);
  while (all.size() < n) all.push_back(space.sample(rng));
  all.resize(n);
  return all;
}
/// A base of that task alone, whose entries are these candidates with these gains.
inline RecordBase base_of(const std::vector<std::pair<Candidate, double>>& entries,
                          const std::string& target = to_string(kTarget)) {
  const DesignSpace space = make_space(source(), kTarget);
  BaseTask task{*anchor_of(source()), 0, {}};
  for (const auto& [candidate, gain] : entries)
    task.entries.push_back({0, candidate, space.extents(candidate.sketch), gain});
  return {"cpu-512", "2026.12", {{"resnet", target, "X", codegen_version(CodeFormat::native_object), "", ""}}, {task}};
}

}  // namespace whet::testing_transfer
