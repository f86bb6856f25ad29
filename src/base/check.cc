#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace whet {

void check_failed(const char* file, int line, const char* condition, const char* note) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition, *note ? ": " : "", note);
  std::abort();
}

}  // namespace whet
