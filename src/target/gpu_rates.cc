#include "target/gpu_rates.h"

namespace whet {

MachineRates data_sheet_rates(const GpuTarget& gpu) {
  const GpuModel& model = nearest_model(gpu);
  return {.gflops = 2.0 * limits_of(gpu).lanes_per_sm * gpu.sms * model.ghz,
          .l2_gbs = kL2BytesACycle * gpu.sms * model.ghz,
          .memory_gbs = model.memory_gbs,
          .l2_bytes = model.l2_bytes};
}

MachineRates with_data_sheet(MachineRates known, const GpuTarget& gpu) {
  const MachineRates sheet = data_sheet_rates(gpu);
  if (known.gflops == 0) known.gflops = sheet.gflops;
  if (known.l2_gbs == 0) known.l2_gbs = sheet.l2_gbs;
  if (known.memory_gbs == 0) known.memory_gbs = sheet.memory_gbs;
  if (known.l2_bytes == 0) known.l2_bytes = sheet.l2_bytes;
  return known;
}

}  // namespace whet
