#include "base/version.h"

namespace whet {

std::string version() { return WHET_VERSION; }

}  // namespace whet
