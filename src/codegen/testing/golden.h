#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace whet {

/// Holds `text` against a file of the sources, or writes it there if WHET_RENEW_GOLDEN is set.
inline void expect_golden(const std::string& path, const std::string& text) {
  const std::string file = std::string(WHET_SOURCE_DIR) + "/src/" + path;
  if (std::getenv("WHET_RENEW_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ostringstream wanted;
  wanted << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, wanted.str()) << path;
}

}  // namespace whet
