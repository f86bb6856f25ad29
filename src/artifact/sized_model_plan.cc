#include "artifact/sized_model_plan.h"

#include <algorithm>
#include <cstring>

#include "artifact/plan_writer.h"

namespace whet {
namespace {

std::string text_of(const ModelSize& size) {
  std::string text =
      "size " + size.name + ", dimension " + std::to_string(size.dimension) + " of input " + std::to_string(size.input);
  if (size.is_range()) return text + ": " + to_text(size) + "\n";
  for (std::size_t i = 0; i < size.values.size(); ++i) text += (i ? ", " : ": ") + std::to_string(size.values[i]);
  return text + "\n";
}

/// "x.0 = 1, n = 2..512"
std::string text_of(const std::vector<ModelSize>& sizes, const ModelBox& box) {
  std::string text;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    text += (k ? ", " : "") + sizes[k].name + " = " + std::to_string(box.low[k]);
    if (box.high[k] != box.low[k]) text += ".." + std::to_string(box.high[k]);
  }
  return text;
}

std::string name_of_variant(const SizedModelPlan& plan, const std::vector<ModelBox>& boxes, std::size_t variant) {
  std::string text;
  for (const ModelBox& box : boxes)
    if (box.variant == variant) text += (text.empty() ? "" : "; ") + text_of(plan.sizes, box);
  return text;
}

std::string text_of(std::size_t i, const PlanNumber& n) {
  static constexpr const char* kOps[] = {"", "", " + ", " - ", " * ", " div ", " mod ", " min ", " max "};
  std::string text = "number " + std::to_string(i) + " = ";
  if (n.op == PlanNumberOp::constant) return text + std::to_string(n.a) + "\n";
  if (n.op == PlanNumberOp::size) return text + "size " + std::to_string(n.a) + "\n";
  return text + "number " + std::to_string(n.a) + kOps[static_cast<std::uint32_t>(n.op)] + "number " +
         std::to_string(n.b) + "\n";
}

std::string text_of(const PlanField& field) {
  static constexpr const char* kKinds[] = {"extent", "offset of argument", "bytes of argument",
                                           "value",  "flops of step",      "bytes of step"};
  return std::string(kKinds[static_cast<std::uint32_t>(field.kind)]) + " " + std::to_string(field.index) +
         " = number " + std::to_string(field.number) + "\n";
}

std::string text_of(const PlanFunctions& functions) {
  std::string text;
  for (std::size_t i = 0; i < functions.numbers.size(); ++i) text += text_of(i, functions.numbers[i]);
  for (const PlanField& field : functions.fields) text += text_of(field);
  if (functions.slots > 0) text += "slots " + std::to_string(functions.slots) + "\n";
  return text;
}

std::string_view bytes_of(std::string_view stored, const PlanVariant& variant) {
  return stored.substr(static_cast<std::size_t>(variant.offset), static_cast<std::size_t>(variant.bytes));
}

/// Appends the values, and returns the number of the first.
std::uint32_t add(const std::vector<std::int64_t>& more, std::vector<std::int64_t>& values) {
  const auto first = static_cast<std::uint32_t>(values.size());
  values.insert(values.end(), more.begin(), more.end());
  return first;
}

PlanSize stored_size(const ModelSize& size, StringTable& strings, std::vector<std::int64_t>& values) {
  PlanSize stored{strings.add(size.name), size.input, size.dimension, 0, 0, size.min, size.max, size.step};
  if (size.is_range()) return stored;
  stored.first_value = add(size.values, values);
  stored.value_count = static_cast<std::uint32_t>(size.values.size());
  stored.min = size.values.front(), stored.max = size.values.back(), stored.step = 0;
  return stored;
}

ModelSize read_size(const SizedView& view, std::uint32_t k) {
  const PlanSize& size = view.sizes[k];
  ModelSize read{view.strings + size.name.offset, size.input, size.dimension};
  if (size.value_count > 0)
    read.values.assign(view.values_of(k), view.values_of(k) + size.value_count);
  else
    read.min = size.min, read.max = size.max, read.step = size.step;
  return read;
}

}  // namespace

std::string to_text(const ModelSize& size) {
  if (size.is_range()) {
    const std::string range = std::to_string(size.min) + ".." + std::to_string(size.max);
    return size.step == 1 ? range : range + ":" + std::to_string(size.step);
  }
  std::string text;
  for (std::size_t i = 0; i < size.values.size(); ++i)
    text += (i == 0 ? "" : i + 1 == size.values.size() ? " or " : ", ") + std::to_string(size.values[i]);
  return text;
}

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

std::vector<ModelBox> boxes_of(const SizedModelPlan& plan) {
  if (!plan.boxes.empty() || plan.sizes.empty()) return plan.boxes;
  std::vector<ModelBox> boxes;
  for (std::size_t v = 0; v < variant_count(plan.sizes); ++v)
    boxes.push_back({v, values_at(plan.sizes, v), values_at(plan.sizes, v)});
  return boxes;
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
  std::vector<PlanBox> boxes;
  for (const ModelSize& size : plan.sizes) sizes.push_back(stored_size(size, strings, values));
  for (const ModelBox& box : boxes_of(plan)) {
    boxes.push_back({static_cast<std::uint32_t>(box.variant), add(box.low, values)});
    add(box.high, values);
  }
  PlanWriter writer(sizeof header);
  std::vector<PlanVariant> variants;
  std::vector<PlanNumber> numbers;
  std::vector<PlanField> fields;
  for (std::size_t v = 0; v < plan.variants.size(); ++v) {
    const std::string stored = write_plan(plan.variants[v]);
    const PlanTable where = writer.append(stored.data(), stored.size());
    const PlanFunctions changing = plan.functions.empty() ? PlanFunctions() : plan.functions.at(v);
    variants.push_back({where.offset, where.count, static_cast<std::uint32_t>(numbers.size()),
                        static_cast<std::uint32_t>(changing.numbers.size()), static_cast<std::uint32_t>(fields.size()),
                        static_cast<std::uint32_t>(changing.fields.size()), changing.slots, 0});
    numbers.insert(numbers.end(), changing.numbers.begin(), changing.numbers.end());
    fields.insert(fields.end(), changing.fields.begin(), changing.fields.end());
  }
  header.sizes = writer.append(sizes);
  header.values = writer.append(values);
  header.variants = writer.append(variants);
  header.boxes = writer.append(boxes);
  header.numbers = writer.append(numbers);
  header.fields = writer.append(fields);
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
  for (std::uint32_t k = 0; k < view.size_count(); ++k) plan.sizes.push_back(read_size(view, k));
  for (std::uint32_t b = 0; b < view.box_count(); ++b)
    plan.boxes.push_back({view.boxes[b].variant,
                          {view.low_of(b), view.low_of(b) + view.size_count()},
                          {view.high_of(b), view.high_of(b) + view.size_count()}});
  for (std::uint32_t v = 0; v < view.variant_count(); ++v) {
    const PlanVariant& variant = view.variants[v];
    ModelView checked;
    if (parse_variant(view, v, &usual, &checked, &error) != 0) return Error{error.message};
    WHET_TRY(plan.variants.emplace_back(), read_plan(bytes_of(stored, variant), variant.slots * kSlotBytes));
    const PlanNumber* numbers = view.numbers + variant.first_number;
    const PlanField* fields = view.fields + variant.first_field;
    plan.functions.push_back(
        {{numbers, numbers + variant.number_count}, {fields, fields + variant.field_count}, variant.slots});
  }
  plan.usual = view.usual();
  return plan;
}

std::string to_text(const SizedModelPlan& plan) {
  if (plan.sizes.empty()) return to_text(plan.variants.at(0));
  const std::vector<ModelBox> boxes = boxes_of(plan);
  std::string text;
  for (const ModelSize& size : plan.sizes) text += text_of(size);
  for (std::size_t v = 0; v < plan.variants.size(); ++v) {
    text += "at " + name_of_variant(plan, boxes, v) + (v == plan.usual ? ", the usual\n" : "\n");
    text += to_text(plan.variants[v]);
    if (!plan.functions.empty()) text += text_of(plan.functions.at(v));
  }
  return text;
}

}  // namespace whet
