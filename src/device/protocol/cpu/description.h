#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/message.h"

namespace whet {

/// A logical processor of a device.
struct DeviceCore {
  std::uint32_t id = 0;
  std::uint32_t package = 0, core = 0;  ///< equal pairs share a physical core
  std::int64_t strength = 0;            ///< as LogicalCpu has it
  bool little = false;
  bool usable = false;     ///< in the affinity mask
  std::uint32_t midr = 0;  ///< AArch64: which processor it is; 0: unknown
  friend bool operator==(const DeviceCore&, const DeviceCore&) = default;
};

/// What a device takes. The device's numbers are final.
struct DeviceLimits {
  std::uint64_t message_bytes = std::uint64_t{16} << 20;
  std::uint32_t kernels = 17;  ///< requests of a job: 16 candidates and their champion
  std::uint32_t threads = 1;
  double kernel_seconds = 60;  ///< the longest limit of one kernel
  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

/// A device's description. It is valid while the session lives.
struct DeviceDescription {
  std::string name;       ///< of the host
  std::string unit;       ///< 16 hexadecimal digits, the same at every start: a hash of the machine's id and the slot
  std::string slot;       ///< "cpu"
  std::string machine;    ///< as uname has it: "x86_64", "aarch64"
  std::string system;     ///< "Linux 6.1.0"
  std::string processor;  ///< LLVM's name of it; "" where the cores' MIDRs say it
  std::string brand;      ///< for people
  std::vector<std::string> features;  ///< instruction sets by LLVM's names
  std::int64_t page_bytes = 0, memory_bytes = 0;
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< 0: unknown
  double quota = 0;                                       ///< processors' worth of time; 0: no limit
  std::vector<DeviceCore> cores;
  std::vector<std::string> governors;  ///< of the usable cores, each once
  std::string emulator;                ///< what runs it in place of a processor; "": nothing
  std::vector<std::string> sandbox;    ///< layers around foreign code
  DeviceLimits limits;
  friend bool operator==(const DeviceDescription&, const DeviceDescription&) = default;
};

/// Its texts are short and printable.
extern template struct Codec<DeviceDescription>;

}  // namespace whet
