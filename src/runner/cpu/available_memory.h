#pragma once

#include <cstdint>

namespace whet {

/// What the system could hand out without swapping, in bytes; the largest number where it does not tell. The first call opens
/// a file, which later ones read: call it before files cannot be opened any more.
std::int64_t available_memory();

}  // namespace whet
