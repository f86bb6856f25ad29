#include "space/cpu/author.h"

#include "space/cpu/attention.h"
#include "space/cpu/row_chain.h"
#include "space/cpu/rows.h"
#include "space/cpu/squeeze_excite.h"
#include "space/cpu/tile.h"
#include "space/cpu/tiles.h"
#include "space/cpu/winograd.h"

namespace whet {
namespace {

std::optional<Sketch> always_rows(const ComputeDag& dag, const Target& target) { return rows_sketch(dag, target); }

constexpr Template kCpuTemplates[] = {
    {attention_pairs_sketch},
    {attention_sketch},
    {squeeze_excite_sketch},
    {row_chain_sketch},
    {tiles_sketch},
    {tile_copy_sketch},
    {tile_sketch},
    {winograd_sketch, false},
    {.make = nullptr, .exact = false, .make_rounded = winograd_pairs_sketch},
    {always_rows, true, true},
};

}  // namespace

std::span<const Template> cpu_templates() { return kCpuTemplates; }

const std::vector<const Rule*>& cpu_rules() {
  static const std::vector<const Rule*> kTable = {
      // They change the DAG, so they come before all others.
      &kWinogradRule,
      &kCacheReadRule,
      // What disappears.
      &kInlineRule,
      &kConstantTensorsRule,
      // What is worth tiles, and what goes with it.
      &kTilingRule,
      &kFuseConsumerRule,
      &kCacheWriteRule,
      &kPackRule,
      // Everything else.
      &kParallelRule,
      &kComputeLocationRule,
      &kRfactorRule,
      &kVectorizeRule,
  };
  return kTable;
}

}  // namespace whet
