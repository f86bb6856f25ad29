#include "artifact/sized_model_plan.h"

#include <algorithm>
#include <cstring>

#include "artifact/plan_writer.h"
#include "artifact/sized_plan.h"

namespace whet {
namespace {

std::string text_of(const ModelSize& size) {
  std::string text =
      "size " + size.name + ", dimension " + std::to_string(size.dimension) + " of input " + std::to_string(size.input);
  for (std::size_t i = 0; i < size.values.size(); ++i) text += (i ? ", " : ": ") + std::to_string(size.values[i]);
  return text + "\n";
}

std::string name_of_variant(const std::vector<ModelSize>& sizes, std::size_t variant) {
  const std::vector<std::int64_t> at = values_at(sizes, variant);
  std::string text;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    text += (k ? ", " : "") + sizes[k].name + " = " + std::to_string(at[k]);
  return text;
}

std::string_view bytes_of(std::string_view stored, const PlanVariant& variant) {
  return stored.substr(static_cast<std::size_t>(variant.offset), static_cast<std::size_t>(variant.bytes));
}

}  // namespace

std::size_t variant_count(const std::vector<ModelSize>& sizes) {
  constexpr std::size_t kMost = std::size_t{1} << 62;
  std::size_t count = 1;
  for (const ModelSize& size : sizes)
    count = size.values.size() > kMost / count ? kMost : count * std::max<std::size_t>(1, size.values.size());
  return count;
}

std::vector<std::int64_t> values_at(const std::vector<ModelSize>& sizes, std::size_t variant) {
  std::vector<std::int64_t> at(sizes.size());
  for (std::size_t k = sizes.size(); k-- > 0;) {
    at[k] = sizes[k].values[variant % sizes[k].values.size()];
    variant /= sizes[k].values.size();
  }
  return at;
}

std::string write_sized_plan(const SizedModelPlan& plan) {
  if (plan.sizes.empty()) return write_plan(plan.variants.at(0));
  SizedPlanHeader header{};
  std::memcpy(header.magic, "whetplan", 8);
  header.version = kSizedPlanVersion;
  header.header_bytes = sizeof header;
  header.usual = plan.usual;
  StringTable strings;
  std::vector<PlanSize> sizes;
  std::vector<std::int64_t> values;
  for (const ModelSize& size : plan.sizes) {
    sizes.push_back({strings.add(size.name), size.input, size.dimension, static_cast<std::uint32_t>(values.size()),
                     static_cast<std::uint32_t>(size.values.size())});
    values.insert(values.end(), size.values.begin(), size.values.end());
  }
  PlanWriter writer(sizeof header);
  std::vector<PlanVariant> variants;
  for (const ModelPlan& variant : plan.variants) {
    const std::string stored = write_plan(variant);
    const PlanTable where = writer.append(stored.data(), stored.size());
    variants.push_back({where.offset, where.count});
  }
  header.sizes = writer.append(sizes);
  header.values = writer.append(values);
  header.variants = writer.append(variants);
  header.strings = writer.append(strings.bytes().data(), strings.bytes().size());
  return writer.finish(header);
}

Result<SizedModelPlan> read_sized_plan(std::string_view stored) {
  SizedModelPlan plan;
  if (!is_sized_plan(stored.data(), stored.size())) {
    WHET_TRY(plan.variants.emplace_back(), read_plan(stored));
    return plan;
  }
  std::vector<std::uint64_t> aligned((stored.size() + 7) / 8);
  std::memcpy(aligned.data(), stored.data(), stored.size());
  SizedView view;
  ModelView usual;
  whet_error error;
  if (parse_sizes(aligned.data(), stored.size(), &view, &error) != 0 ||
      parse_variant(view, view.usual(), nullptr, &usual, &error) != 0)
    return Error{error.message};
  for (std::uint32_t k = 0; k < view.size_count(); ++k) {
    const PlanSize& size = view.sizes[k];
    const std::int64_t* values = view.values_of(k);
    plan.sizes.push_back(
        {view.strings + size.name.offset, size.input, size.dimension, {values, values + size.value_count}});
  }
  for (std::uint32_t v = 0; v < view.variant_count(); ++v) {
    ModelView checked;
    if (parse_variant(view, v, &usual, &checked, &error) != 0) return Error{error.message};
    WHET_TRY(plan.variants.emplace_back(), read_plan(bytes_of(stored, view.variants[v])));
  }
  plan.usual = view.usual();
  return plan;
}

std::string to_text(const SizedModelPlan& plan) {
  if (plan.sizes.empty()) return to_text(plan.variants.at(0));
  std::string text;
  for (const ModelSize& size : plan.sizes) text += text_of(size);
  for (std::size_t v = 0; v < plan.variants.size(); ++v)
    text +=
        "at " + name_of_variant(plan.sizes, v) + (v == plan.usual ? ", the usual\n" : "\n") + to_text(plan.variants[v]);
  return text;
}

}  // namespace whet
