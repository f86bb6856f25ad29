// The stored plan of a compiled model, for one size or for several: refused by a sentence, or written and read back as
// the same. Sizes and checksums are put right first, else nothing behind them were reached.

#include <cstddef>
#include <cstring>
#include <vector>

#include "artifact/model_format.h"
#include "artifact/model_plan.h"
#include "artifact/sized_model_plan.h"
#include "artifact/sized_plan.h"
#include "fuzz.h"

using namespace whet;

namespace {

/// Every version has them at the same place.
void put_frame_right(std::string& plan) {
  if (plan.size() < offsetof(PlanHeader, arena_bytes)) return;
  const auto put = [&](std::size_t at, std::uint64_t value) { std::memcpy(plan.data() + at, &value, sizeof value); };
  put(offsetof(PlanHeader, total_bytes), plan.size());
  put(offsetof(PlanHeader, checksum), 0);
  put(offsetof(PlanHeader, checksum), whet_checksum(plan.data(), plan.size()));
}

/// Those of the plans in a plan for several sizes.
void put_variants_right(std::string& plan) {
  if (!is_sized_plan(plan.data(), plan.size()) || plan.size() < sizeof(SizedPlanHeader)) return;
  SizedPlanHeader header;
  std::memcpy(&header, plan.data(), sizeof header);
  for (std::uint64_t v = 0; v < header.variants.count && v < 64; ++v) {
    const std::uint64_t at = header.variants.offset + v * sizeof(PlanVariant);
    PlanVariant variant;
    if (at + sizeof variant > plan.size()) return;
    std::memcpy(&variant, plan.data() + at, sizeof variant);
    if (variant.offset > plan.size() || variant.bytes > plan.size() - variant.offset) continue;
    std::string one = plan.substr(variant.offset, variant.bytes);
    put_frame_right(one);
    std::memcpy(plan.data() + variant.offset, one.data(), one.size());
  }
}

bool is_of_this_version(const std::string& plan) {
  std::uint32_t version = 0;
  if (plan.size() < sizeof(PlanHeader)) return false;
  std::memcpy(&version, plan.data() + offsetof(PlanHeader, version), sizeof version);
  return version == kPlanVersion;
}

/// The runtime's parser on memory of exactly these bytes, whole words, so that a byte too far is noticed.
bool runtime_reads(const std::string& plan) {
  std::vector<std::uint64_t> aligned(plan.size() / 8);
  if (!plan.empty()) std::memcpy(aligned.data(), plan.data(), plan.size());
  ModelView view;
  whet_error error;
  return parse_model(aligned.data(), plan.size(), &view, &error) == 0;
}

/// The plans of ranges at the ends of their boxes, as the runtime makes them when shapes change.
void evaluate(const std::string& plan) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::vector<std::uint64_t> aligned(plan.size() / 8);
  std::memcpy(aligned.data(), plan.data(), plan.size());
  SizedView view;
  whet_error error;
  fuzz::require(parse_sizes(aligned.data(), plan.size(), &view, &error) == 0, "the runtime reads what whet wrote");
  for (std::uint32_t b = 0; b < view.box_count() && b < 64; ++b) {
    const std::uint32_t variant = view.boxes[b].variant;
    ModelView stored;
    fuzz::require(parse_variant(view, variant, nullptr, &stored, &error) == 0, "and its variants");
    if (plan_at_bytes(view, variant, stored) > kMost) continue;
    std::vector<std::uint64_t> memory((plan_at_bytes(view, variant, stored) + 7) / 8);
    for (const std::int64_t* values : {view.low_of(b), view.high_of(b)}) {
      PlanAt at;
      if (plan_at(view, variant, stored, values, memory.data(), &at, &error) != 0)
        fuzz::require_sentence(error.message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  put_variants_right(bytes);
  put_frame_right(bytes);
  const auto plan = read_sized_plan(bytes);
  if (bytes.size() % 8 == 0 && is_of_this_version(bytes))
    fuzz::require(plan.ok() == runtime_reads(bytes), "compiler and runtime read the same plans");
  if (!plan.ok()) return fuzz::require_sentence(plan.error().message), 0;
  const std::string written = write_sized_plan(*plan);
  const auto again = read_sized_plan(written);
  fuzz::require(again.ok(), "a written plan is read");
  fuzz::require(to_text(*again) == to_text(*plan), "a written plan reads back as the same");
  fuzz::require(write_sized_plan(*again) == written, "a plan that was read is written as before");
  if (!plan->sizes.empty()) evaluate(written);
  return 0;
}
