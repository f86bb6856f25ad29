#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "space/rules/rule.h"
#include "space/space.h"

namespace whet {

/// An expert's schedule of one form of DAG, with open decisions.
struct Template {
  /// Returns nothing where the DAG is not of this form.
  std::optional<Sketch> (*make)(const ComputeDag&, const Target&);
  bool exact = true;      ///< its schedules are exact (Numerics)
  bool last_one = false;  ///< used only where no other template fits
  /// In place of `make`, of a template whose schedules round operands: asked for a precision below f32 alone.
  std::optional<Sketch> (*make_rounded)(const ComputeDag&, const Target&, Precision) = nullptr;
};

/// The makers of sketches for one kind of target.
struct SpaceAuthor {
  std::string_view kind;
  std::span<const Template> (*templates)();    ///< the first that fits gives the default schedule, unless `ranked`
  const std::vector<const Rule*>& (*rules)();  ///< in the order in which they are asked
  /// The schedule that lowers whatever the DAG is; null: the naive one.
  void (*safe)(Scheduler&) = nullptr;
  /// The template whose guess is fastest by the estimate gives the default schedule.
  bool ranked = false;
};
/// One row for each kind of target. For a kind without a row, the space of every task has the naive schedule only.
std::span<const SpaceAuthor> space_authors();
/// Returns the rules for a target; none where its kind has no author.
std::span<const Rule* const> rules_for(const Target&);

}  // namespace whet
