#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "records/records.h"
#include "space/space.h"
#include "target/target.h"
#include "trial/ranged.h"
#include "workflow/sizes.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// The last line that the records have of the network; null: none.
const NetworkAtSizes* timed_network(const Records&, const Family&, const Target&);

/// Gives sizes at which a library without records was faster the kernels of that library: those that are nearer to such a point than to one
/// at which it was not, along the size of which the points have most values. Where all points are such, all sizes have them.
///   points   of the network, as it was timed; those that were not compared with the untuned library do not count
///   untuned  the pieces of the library without records
void keep_untuned(const std::vector<TimedAtSizes>& points, const Family&, const FamilyPieces& untuned,
                  FamilyPieces& pieces);
/// The same by the last line of the network, where that keeps any, and no kernel of its tasks was timed for ranges after it: then others may
/// be chosen than it was timed with. Returns a sentence about it for the user, or "".
std::string keep_untuned(const Records&, const Family&, const std::vector<WantedSize>&, const TuningSizeOptions&,
                         const Target&, const SpaceOptions&, FamilyPieces& pieces);

}  // namespace whet
