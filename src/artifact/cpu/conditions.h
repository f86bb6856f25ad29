#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// What a machine was like while a kernel was timed on it. Zeros and empty texts: unknown.
struct RunConditions {
  std::string unit;                  ///< 16 hexadecimal digits that tell one machine from another
  std::vector<std::uint32_t> cores;  ///< that the kernel's threads could run on
  std::string governor;              ///< of these cores' clock
  double ghz = 0;                    ///< of the first of them, right after the kernel, as measured
  double celsius = 0;                ///< of the processor, right after the kernel
  bool throttled = false;            ///< too hot for its usual clock, however long it was left to cool
  friend bool operator==(const RunConditions&, const RunConditions&) = default;
};

}  // namespace whet
