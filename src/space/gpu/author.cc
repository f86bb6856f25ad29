#include "space/gpu/author.h"

#include "space/gpu/elements.h"
#include "space/gpu/product.h"
#include "space/gpu/rows.h"
#include "space/gpu/safe.h"
#include "space/gpu/window.h"

namespace whet {
namespace {

constexpr Template kTemplates[] = {
    {product_sketch}, {window_sketch}, {gpu_rows_sketch}, {elements_sketch}, {safe_sketch, true, true},
};

}  // namespace

std::span<const Template> gpu_templates() { return kTemplates; }

const std::vector<const Rule*>& gpu_rules() {
  static const std::vector<const Rule*> kTable;
  return kTable;
}

}  // namespace whet
