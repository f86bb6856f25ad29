#include "measure/device_rates.h"

#include <algorithm>

#include "codegen/compile.h"
#include "device/sane_reply.h"
#include "measure/cpu/peak.h"
#include "measure/cpu/reads.h"

namespace whet {
namespace {

/// What a thread reads in a timed run at least, and of memory [bytes]: as for this machine (machine/bandwidth.cc).
constexpr std::int64_t kRead = 32 << 20;

/// Has kernels timed.
class DeviceRates {
 public:
  DeviceRates(Device& device, const Target& target, const CpuPlacement& placement)
      : device_(device), target_(target), placement_(placement) {}

  double gflops() const {
    const double seconds = time(burst_program(cpu(), kPeakRounds, target_.threads), CacheMode::warm);
    return rate(burst_operations(cpu(), kPeakRounds) * target_.threads, seconds);
  }
  /// Of a level that has `bytes` bytes for each thread.
  double gbs(std::int64_t bytes, CacheMode cache) const {
    const std::int64_t step = 4 * read_step(cpu());
    if (bytes < step) return 0;
    bytes = bytes / step * step;
    const std::int64_t passes = std::max<std::int64_t>(1, kRead / bytes);
    const double seconds = time(read_program(cpu(), bytes / 4, passes, target_.threads), cache);
    return rate(static_cast<double>(bytes * passes) * target_.threads, seconds);
  }

 private:
  const CpuTarget& cpu() const { return target_.cpu(); }
  static double rate(double work, double seconds) { return seconds > 0 ? work / seconds / 1e9 : 0; }

  /// Of a program with one argument to read, about 1 each, and one to write; 0 where the device cannot say.
  double time(const Program& program, CacheMode cache) const {
    const Result<Kernel> kernel = compile_kernel(program, target_);
    if (!kernel.ok()) return 0;
    MeasureRequest request;
    request.job.kernel = *kernel;
    request.job.threads = static_cast<std::uint32_t>(target_.threads);
    request.job.cpu = placement_;
    // No constant: the device keeps a pool of those as large as the largest, and later kernels would find theirs colder.
    ArgumentSpec ones{ArgumentRole::activation, DType::f32, kernel->argument_bytes[0]};
    ones.low = 1, ones.high = 1.001;  // a range, which nothing turns into tiny or huge numbers
    request.job.arguments = {ones, {ArgumentRole::output, DType::f32, kernel->argument_bytes[1]}};
    request.policy.cache = cache;
    const MeasureReply reply = sane_reply(device_.measure(request), request, device_.info(), 0, 0);
    return reply.code == OutcomeCode::ok ? *std::ranges::min_element(reply.seconds) : 0;
  }

  Device& device_;
  const Target& target_;
  const CpuPlacement& placement_;
};

}  // namespace

MachineRates measure_device_rates(Device& device, const Target& target, const CpuPlacement& placement) {
  MachineRates rates;
  if (!target.is_cpu()) return rates;
  const CpuTarget& cpu = target.cpu();
  const DeviceRates measured(device, target, placement);
  rates.gflops = measured.gflops();
  rates.l1_bytes = cpu.l1_bytes * target.threads;
  rates.l2_bytes = cpu.l2_bytes * target.threads;
  rates.l3_bytes = cpu.l3_bytes;
  rates.l1_gbs = measured.gbs(cpu.l1_bytes / 2, CacheMode::warm);
  rates.l2_gbs = measured.gbs(cpu.l2_bytes / 2, CacheMode::warm);
  rates.l3_gbs = measured.gbs(std::min(cpu.l3_bytes / 2 / target.threads, 8 * cpu.l2_bytes), CacheMode::warm);
  rates.memory_gbs = measured.gbs(kRead, CacheMode::cold);
  return rates;
}

}  // namespace whet
