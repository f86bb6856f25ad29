#pragma once

#include <string>

#include "alternatives/alternatives.h"
#include "base/result.h"
#include "target/target.h"

namespace whet {

/// Which alternatives --layouts and --covers allow on a target.
///   layouts  "search", "nhwc", or a list like "nchw,nchw16c"
///   covers   "search", "off"
/// An error for what is neither a word nor a form.
Result<AlternativeOptions> parse_alternatives(const std::string& layouts, const std::string& covers, const Target&);

}  // namespace whet
