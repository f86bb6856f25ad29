#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/dag.h"
#include "records/record_base.h"
#include "space/space.h"
#include "target/target.h"
#include "trial/candidate.h"

namespace whet {

/// A schedule that was good for similar tasks, in the space of this one (Transfer-tuning, arXiv 2201.05587).
struct Transfer {
  Candidate candidate;
  std::string steps;  ///< its schedule; never the default one
  Numerics numerics;  ///< of the schedule
  std::string from;   ///< of its nearest source, for people: "winograd of vgg16's conv 1x56x56x256 of 256x3x3"
  double gain =
      1;  ///< expected over the default schedule: the mean of its sources' (of logarithms, weighted by (1 + distance)^-2)
  double analytic = 1;  ///< seconds by the estimate over those of the default schedule
  double distance = 0;  ///< of its nearest source
  bool own =
      true;  ///< it is what this kind of machine says (NearEntry::own); other machines' entries then do not count
};

/// Entries of the base that a task looks at, the nearest.
inline constexpr std::size_t kMostSources = 16;

/// What the base knows for a task, each schedule once; the greatest expected gain first. None for a task without a reduction.
///   space  of the task, with the options that its schedules have to satisfy
std::vector<Transfer> transfers(const ComputeDag&, const DesignSpace& space, const Target&, const RecordBase&);

/// How much faster a chain (several groups as one kernel) is than its groups' kernels, each by its best schedule: the mean of the three
/// nearest chains of the base. Nothing where these were not all measured on this kind of machine, or gained less than 15%.
std::optional<double> chain_gain(const ComputeDag& chain, const Target&, const RecordBase&);

/// Why a transfer is not compiled unmeasured: "its sources gained 6% on average, 22% are asked for"; "" where it may be.
std::string why_not_unmeasured(const Transfer&);
/// The one that is compiled where nothing was measured: the greatest expected gain of those that may be. Null: the default schedule.
const Transfer* without_measuring(std::span<const Transfer>);
/// Those that are worth timing beside the default schedule, at most `n`: the greatest expected gain and the least estimate in turns.
std::vector<Transfer> worth_timing(std::vector<Transfer>, std::size_t n);

}  // namespace whet
