#pragma once

#include "target/gpu.h"
#include "target/machine_rates.h"

namespace whet {

/// What the nearest model's data sheet promises for a target's SMs: f32 multiply-adds, memory, and the size of L2. No data
/// sheet has the rate of L2; it is kL2BytesACycle of each SM.
MachineRates data_sheet_rates(const GpuTarget&);
/// `known`, and the data sheet's figures where that has zeros.
MachineRates with_data_sheet(MachineRates known, const GpuTarget&);
/// Source: published measurements of A100 and H100 reach 4 and 6 TB/s.
constexpr double kL2BytesACycle = 26;

}  // namespace whet
