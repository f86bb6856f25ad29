#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/testing/checkout.h"

namespace whet {

/// Holds `text` against a file of the sources, or writes it there if WHET_RENEW_GOLDEN is set.
inline void expect_golden(const std::string& path, const std::string& text) {
  const std::string file = checkout_path("src/") + path;
  if (std::getenv("WHET_RENEW_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ostringstream wanted;
  wanted << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, wanted.str()) << path;
}

}  // namespace whet
