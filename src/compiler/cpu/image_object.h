#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// The ELF machine of an x86-64 object.
constexpr std::uint16_t kElfX86_64 = 62;

/// Where a compiled model's weights begin in memory, counted from the start of the library: behind all of its code.
constexpr std::uint64_t kWeightsAddress = std::uint64_t{1} << 28;

/// The relocatable object that makes a library a model: it defines whet_image (runtime/model.h) over the stored plan,
/// the kernels (undefined `symbols`, in the order of the plan's entries) and `weights_bytes` of weights. Those are not
/// in the object: link_model puts them behind the library, and a note keeps a program header free for them.
std::string image_object(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                         std::uint64_t weights_bytes);

}  // namespace whet
