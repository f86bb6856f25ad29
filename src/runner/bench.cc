#include "runner/bench.h"

#include <algorithm>

namespace whet {

Benches::Benches(std::span<const BenchOfFormat> table) : table_(table), benches_(table.size()) {}

KernelBench* Benches::find(CodeFormat format) {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].format != format) continue;
    if (!benches_[i]) benches_[i] = table_[i].make();
    return benches_[i].get();
  }
  return nullptr;
}

/// "this runner runs no kernels of format ptx; it runs native_object"
std::string Benches::no_bench(CodeFormat format) const {
  std::string known;
  for (const BenchOfFormat& row : table_) known += (known.empty() ? "" : ", ") + std::string(name_of(row.format));
  return "this runner runs no kernels of format " + std::string(name_of(format)) + "; it runs " + known;
}

MeasureReply Benches::measure(const MeasureRequest& request) {
  const CodeFormat format = request.job.kernel.format;
  if (KernelBench* bench = find(format)) return bench->measure(request);
  MeasureReply reply;
  reply.code = OutcomeCode::runtime;
  reply.message = no_bench(format);
  return reply;
}

CheckReply Benches::check(const CheckRequest& request) {
  const CodeFormat format = request.job.kernel.format;
  if (KernelBench* bench = find(format)) return bench->check(request);
  return {OutcomeCode::runtime, no_bench(format), {}};
}

bool Benches::is_lost() const {
  return std::ranges::any_of(benches_, [](const auto& bench) { return bench && bench->is_lost(); });
}

std::size_t Benches::describe(std::uintptr_t address, char* text, std::size_t capacity) const {
  for (const auto& bench : benches_)
    if (bench)
      if (const std::size_t length = bench->describe(address, text, capacity)) return length;
  return 0;
}

}  // namespace whet
