#pragma once

#include "program/program.h"

namespace whet {

/// Splits ordinary stores that fill a pipeline's block memory: the load comes ahead of the work, the store behind it. Otherwise the store
/// would wait for its load, and the work for the store.
///   wait; if later { u[stage] = f(x[...]) }; commit; work   =>
///   wait; if later { r = f(x[...]) }; commit; work; if later { u[stage] = r }
/// What is loaded waits in registers of the thread, at most kMostHeld of them (schedule/pipeline.h), and is rounded behind the work. So is
/// what a copy computes of one element of 16 bits and constants. All loops of the copy are unrolled.
/// Nothing changes where the copy reads other block memory, or where its conditions are data.
/// Needs:  groups of copies (`generate`) around what fills a pipeline; asynchronous stores are marked.
/// Leaves: the same groups; the same values computed; `changed` tells whether there is one.
Stmt with_late_stores(Program&, const Stmt& launch, bool& changed);

}  // namespace whet
