#include "measure/kernel_job.h"

#include <algorithm>

#include "base/hash.h"

namespace whet {

std::string id_of(const MeasureTask& task) { return task.key + " in " + to_string(task.within); }

std::uint64_t seed_of(const MeasureTask& task, const MeasureOptions& options) {
  return hash_combine(options.seed, hash_bytes(task.key));
}

KernelJob job_of(const MeasureTask& task, const BuildResult& built, const MeasureOptions& options,
                 const std::vector<ArgumentSpec>* inputs) {
  KernelJob job;
  job.kernel = built.kernel;
  job.threads = static_cast<std::uint32_t>(std::max(1, task.target.threads));
  job.cpu = options.cpu;
  for (const BuiltArgument& a : built.arguments) {
    ArgumentSpec spec = a.spec;
    if (a.kind == BuiltArgument::Kind::input) {
      if (!spec.is_given()) spec.seed = hash_combine(seed_of(task, options), a.index);
      if (inputs && a.index < inputs->size()) spec = (*inputs)[a.index];
    }
    job.arguments.push_back(spec);
  }
  return job;
}

MeasureRequest request_of(const MeasureTask& task, const BuildResult& built, const MeasureOptions& options,
                          const TimingPolicy& policy) {
  MeasureRequest request{job_of(task, built, options), policy};
  if (!options.network_bytes) return request;
  std::int64_t packed = 0;
  for (const ArgumentSpec& argument : request.job.arguments)
    if (argument.role == ArgumentRole::constant) packed += argument.bytes;
  request.policy.network_bytes = options.network_bytes(task.dag, packed);
  return request;
}

}  // namespace whet
