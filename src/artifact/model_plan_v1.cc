#include "artifact/model_plan_v1.h"

#include <cstring>

#include "artifact/model_format.h"

namespace whet {
namespace {

constexpr std::size_t kHeaderBytes = 160, kGrowth = sizeof(PlanHeader) - kHeaderBytes;
static_assert(kGrowth % 8 == 0, "the tables stay aligned");

/// The steps of version 1. All other tables are as they were, and so are the first 160 bytes of the header.
struct StepV1 {
  PlanStepKind kind;
  std::uint32_t entry, first_argument, argument_count, flags, reserved;
  std::uint64_t workspace_offset, workspace_bytes, worker_bytes;
  std::uint64_t prefetch_offset, prefetch_bytes;  ///< no kernel ever used them
  double flops, bytes, predicted_seconds;
  PlanString node, op;
};
static_assert(sizeof(StepV1) == 104);

PlanStep upgraded(const StepV1& was) {
  PlanStep step{};
  step.kind = was.kind;
  step.entry = was.entry;
  step.first_argument = was.first_argument;
  step.argument_count = was.argument_count;
  step.flags = was.flags;
  step.workspace_offset = was.workspace_offset;
  step.workspace_bytes = was.workspace_bytes;
  step.worker_bytes = was.worker_bytes;
  step.flops = was.flops;
  step.bytes = was.bytes;
  step.predicted_seconds = was.predicted_seconds;
  step.node = was.node;
  step.op = was.op;
  return step;
}

std::uint64_t checksum_of(std::string plan) {
  std::memset(plan.data() + offsetof(PlanHeader, checksum), 0, sizeof(PlanHeader::checksum));
  return whet_checksum(plan.data(), plan.size());
}

}  // namespace

bool is_plan_of_version_1(std::string_view stored) {
  std::uint32_t version = 0;
  if (stored.size() < kHeaderBytes || stored.substr(0, 8) != "whetplan") return false;
  std::memcpy(&version, stored.data() + offsetof(PlanHeader, version), sizeof version);
  return version == 1;
}

Result<std::string> plan_of_version_1(std::string_view stored) {
  PlanHeader header{};
  std::memcpy(&header, stored.data(), kHeaderBytes);
  if (header.header_bytes != kHeaderBytes || header.total_bytes != stored.size())
    return Error{"the model's plan of version 1 has a header of " + std::to_string(header.header_bytes) +
                 " bytes and " + std::to_string(header.total_bytes) + " in all; expected " +
                 std::to_string(kHeaderBytes) + " and " + std::to_string(stored.size())};
  if (checksum_of(std::string(stored)) != header.checksum)
    return Error{"the model's plan does not have the checksum that was written with it (was it damaged?)"};
  const PlanTable steps = header.steps;
  if (steps.offset < kHeaderBytes || steps.offset > stored.size() ||
      steps.count > (stored.size() - steps.offset) / sizeof(StepV1))
    return Error{"the model's plan of version 1 has its steps outside its " + std::to_string(stored.size()) + " bytes"};

  for (PlanTable* table : {&header.inputs, &header.outputs, &header.dims, &header.arguments, &header.strings})
    table->offset += kGrowth;
  std::string plan(sizeof header, '\0');
  plan.append(stored.substr(kHeaderBytes));
  plan.resize((plan.size() + 7) / 8 * 8);
  header.steps.offset = header.launches.offset = header.images.offset = static_cast<std::uint32_t>(plan.size());
  for (std::uint32_t i = 0; i < steps.count; ++i) {
    StepV1 was;
    std::memcpy(&was, stored.data() + steps.offset + i * sizeof was, sizeof was);
    const PlanStep step = upgraded(was);
    plan.append(reinterpret_cast<const char*>(&step), sizeof step);
  }
  // For a CPU: the empty string is the zero behind the last one.
  header.device = {header.strings.count - 1, 0};
  header.version = kPlanVersion;
  header.header_bytes = sizeof header;
  header.total_bytes = plan.size();
  header.checksum = 0;
  std::memcpy(plan.data(), &header, sizeof header);
  header.checksum = whet_checksum(plan.data(), plan.size());
  std::memcpy(plan.data(), &header, sizeof header);
  return plan;
}

}  // namespace whet
