#include "schedule/tolerance.h"

namespace whet {

double tolerance_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
    case Precision::f16:
      return 8 * 0x1p-11;
    case Precision::bf16:
      return 8 * 0x1p-8;
    default:
      return 0;
  }
}

}  // namespace whet
