#include "base/result.h"

#include "base/shown.h"

namespace whet {

Error Error::in_one_line() && { return {shown(message), kind}; }

}  // namespace whet
