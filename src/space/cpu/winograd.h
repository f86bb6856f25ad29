#pragma once

#include <optional>

#include "compute/winograd.h"
#include "space/anatomy.h"
#include "space/space.h"

namespace whet {

/// The template of 3x3 convolutions of stride 1 by Winograd's algorithm: tiles are transformed, multiplied with packed
/// weights that were transformed ahead, and transformed back together with the epilogue; either in three phases over
/// the whole image (weights are read once), or block by block of rows (tiles stay in a core's cache).
///   decisions: m (outputs of a tile along each axis), rows (rows of tiles in a block; 0: phases), oc, oh and ow (the
///   register tile of the products), ic (reduction steps unrolled)
/// Returns nothing where the DAG is not of this form.
std::optional<Sketch> winograd_sketch(const ComputeDag&, const Target&);

/// The same of a convolution of bf16 whose transformed tiles and weights are bf16 again, F(2 x 2) alone: pairs of them are multiplied. It
/// rounds twice, so that it is a sketch of its own, where bf16 is asked for. (`winograd_sketch` widens a convolution of bf16 first, and
/// has both sizes of tiles then.) Returns nothing for another precision, or a processor without such products.
std::optional<Sketch> winograd_pairs_sketch(const ComputeDag&, const Target&, Precision);

/// Schedules the transforms in phases over the whole image, with the epilogue. The products, and the weights that are to
/// be packed for them, keep their naive nests.
WinogradOps winograd_phases(Scheduler&, const Anatomy&, std::int64_t m, std::int64_t lanes);

}  // namespace whet
