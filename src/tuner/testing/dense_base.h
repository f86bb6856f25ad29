#pragma once

#include <utility>
#include <vector>

#include "artifact/code_format.h"
#include "compute/anchor.h"
#include "records/record_base.h"
#include "space/space.h"
#include "tuner/testing/dense_task.h"

namespace whet {

/// A base of one dense layer of another network, of which `entries` schedules were good: each gained as much as the next of `gains`.
inline RecordBase dense_base(const Target& target, const std::vector<double>& gains) {
  const ComputeDag dag = dense_task("taught", 64, 512, 128, 1).dag;
  const DesignSpace space = make_space(dag, target);
  BaseTask task{*anchor_of(dag), 0, {}};
  Rng rng(5);
  for (const double gain : gains) {
    const Candidate candidate = space.sample(rng);
    task.entries.push_back({0, candidate, space.extents(candidate.sketch), gain});
  }
  return {"cpu-256",
          "2026.12",
          {{"mlp", to_string(target), "X", codegen_version(code_format(target)), "", ""}},
          {std::move(task)}};
}

}  // namespace whet
