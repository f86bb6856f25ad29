#include "base/testing/checkout.h"

namespace whet {

std::string checkout_path(std::string_view path) { return std::string(WHET_SOURCE_DIR "/").append(path); }

}  // namespace whet
