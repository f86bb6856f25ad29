#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// One PTX module with the entries of all, as the code generator writes them for one target: the head (.version, .target,
/// .address_size) occurs once, and so does the declaration of block memory.
/// Errors: a text without a head, or with another one than the first's.
Result<std::string> join_ptx(std::span<const std::string_view> texts);

}  // namespace whet
