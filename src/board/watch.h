#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "artifact/cpu/conditions.h"

namespace whet {

/// Clock and heat of cores at one moment. Zeros: unknown.
struct BoardState {
  double ghz = 0;                   ///< of the first core
  double celsius = 0;               ///< of the hottest sensor of the processor
  double trip_celsius = 0;          ///< at which the system slows that one down
  bool firmware_throttles = false;  ///< a Raspberry Pi's, just now
  std::int64_t throttle_count = 0;  ///< how often these x86 cores have slowed themselves down
};

/// Reads the state of cores, from /sys and by a short chain of additions on the first of them.
BoardState look_at(const std::vector<std::uint32_t>& cores, const std::string& sys = "/sys");
/// The governor of these cores; several names where they differ; "" where the system does not tell.
std::string governor_of(const std::vector<std::uint32_t>& cores, const std::string& sys = "/sys");
/// The cores that some thread of a process may run on, in order; none where the process is gone.
std::vector<std::uint32_t> cores_of_process(int pid);

/// Whether a processor is so hot that its times are not to be used, and what says so: "it runs at 1.50 GHz, not at
/// 2.40"; "" where it is not.
///   before, now   around a kernel's run
///   best_ghz      the highest clock seen in this session; 0: none. Boards have one clock under load. Those of other
///                 processors change by what runs, so that only their own word counts: give 0
std::string why_hot(const BoardState& before, const BoardState& now, double best_ghz);

/// Cycles a second of the core that this thread runs on, by a chain of dependent additions; takes about 20 us.
double measured_ghz();

}  // namespace whet
