#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

/// Weights as they stand in a compiled model: pieces at ascending offsets, zeros between.
struct WeightPiece {
  std::uint64_t offset = 0;
  const void* data = nullptr;
  std::uint64_t bytes = 0;
};

/// The ELF machine of an x86-64 object.
constexpr std::uint16_t kElfX86_64 = 62;

/// Writes the relocatable object that makes a library a model: it defines whet_image (runtime/model.h) over the stored
/// plan, the kernels (undefined `symbols`, in the order of the plan's entries) and the weights, which go straight into
/// a section that may be larger than 2 GB.
Status write_image_object(const std::string& path, std::uint16_t machine, std::string_view plan,
                          const std::vector<std::string>& symbols, const std::vector<WeightPiece>& weights,
                          std::uint64_t weights_bytes);

}  // namespace whet
