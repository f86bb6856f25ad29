#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/checkout.h"

namespace whet {

/// Holds messages against a file of the sources, which has their names and their bytes in hexadecimal digits, or writes it if WHET_RENEW_GOLDEN is set.
inline void expect_golden_bytes(std::string_view path,
                                const std::vector<std::pair<std::string, std::string>>& messages) {
  std::string text;
  for (const auto& [name, bytes] : messages) {
    text += name;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
      text += (i % 64 == 0 ? "\n" : "") + std::string(digits);
    }
    text += "\n\n";
  }
  const std::string file = checkout_path(path);
  if (std::getenv("WHET_RENEW_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::stringstream there;
  there << std::ifstream(file).rdbuf();
  EXPECT_EQ(there.str(), text) << path << " differs: other programs would not read these messages";
}

}  // namespace whet
