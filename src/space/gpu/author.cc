#include "space/gpu/author.h"

#include "space/gpu/attention.h"
#include "space/gpu/attention_mma.h"
#include "space/gpu/attention_stream.h"
#include "space/gpu/dots.h"
#include "space/gpu/elements.h"
#include "space/gpu/mma.h"
#include "space/gpu/patch.h"
#include "space/gpu/product.h"
#include "space/gpu/rows.h"
#include "space/gpu/safe.h"
#include "space/gpu/window.h"
#include "space/gpu/winograd.h"

namespace whet {
namespace {

constexpr Template kGpuTemplates[] = {
    {.make = nullptr, .exact = false, .make_rounded = mma_sketch},
    {mma_half_sketch},
    {mma_bytes_sketch},
    {.make = nullptr, .exact = false, .make_rounded = attention_stream_sketch},
    {half_attention_stream_sketch},
    {.make = nullptr, .exact = false, .make_rounded = attention_mma_sketch},
    {attention_half_sketch},
    {gpu_attention_sketch},
    {product_sketch},
    {dots_sketch},
    {gpu_winograd_sketch, false},
    {patch_sketch},
    {window_sketch},
    {gpu_rows_sketch},
    {elements_sketch},
    {safe_sketch, true, true},
};

}  // namespace

std::span<const Template> gpu_templates() { return kGpuTemplates; }

const std::vector<const Rule*>& gpu_rules() {
  static const std::vector<const Rule*> kTable = {
      // They change the DAG, so they come before all others.
      &kGpuWinogradRule,
      &kGpuMergeTermsRule,
      &kGpuUnfoldRule,
      &kGpuSplitSumRule,
      // What disappears, and what goes with a sum.
      &kGpuInlineRule,
      &kGpuFuseConsumerRule,
      // Tiles in block memory.
      &kGpuTilingRule,
      &kGpuCacheWriteRule,
      &kGpuCacheReadRule,
      &kGpuConstantTensorsRule,
      // Everything else.
      &kGpuTransformRule,
      &kGpuWindowRule,
      &kGpuCrossThreadRule,
      &kGpuBindRule,
  };
  return kTable;
}

}  // namespace whet
