#pragma once

#include <cstdint>

namespace whet {

/// The switches of processors that compiled code may need, by LLVM's names ("avx512vl"), as bits of one set.
/// No standard library is used: the runtime links this.
using IsaSet = std::uint64_t;

/// Names that an IsaSet can hold; `isa_name(i)` is bit i's, for i in 0 .. isa_count()-1.
int isa_count();
const char* isa_name(int bit);
/// The bit of a name of `length` characters; -1 where it is unknown.
int isa_bit(const char* name, std::uint64_t length);

/// What this processor offers and this system has switched on.
IsaSet host_isa();

}  // namespace whet
