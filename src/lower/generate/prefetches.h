#pragma once

// Internal to generation.

#include "lower/generate/storage.h"

namespace whet {

/// Prefetches of the cache lines that the reader reads `ahead` iterations later, placed at the start of the loop's
/// body. None where the box that it reads is not known.
void append_prefetches(const LoopTree&, const Storage&, const PrefetchedRead&, std::vector<Stmt>& out);

}  // namespace whet
