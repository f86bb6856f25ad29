#pragma once

#include "target/cpu.h"

namespace whet {

/// The processor has an instruction that adds up two products of i16 and pays: AVX2's vpmaddwd, AVX-512's vpdpwssd.
bool has_products_of_i16(const CpuTarget&);

}  // namespace whet
