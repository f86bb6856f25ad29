#include "workflow/measuring.h"

#include <gtest/gtest.h>

namespace whet::measuring_test {
namespace {

/// How many devices are named, or why that cannot be.
std::string named(const std::vector<std::string>& texts) {
  const auto devices = parse_devices(texts);
  return devices.ok() ? std::to_string(devices->size()) : devices.error().message;
}

TEST(NamedDevices, AreTwoWhereACommandIsNamedTwice) {
  EXPECT_EQ(named({"exec:whet-device --stdio", "exec:whet-device --stdio"}), "2");
  EXPECT_EQ(named({"exec:a", "ssh://b", "exec:a"}), "3");
}
TEST(NamedDevices, AreOneMachineEachElse) {
  for (const std::string device : {"ssh://pi@board:22", "fleet:pi5", "cuda:0", "emulated"}) {
    EXPECT_EQ(named({device}), "1");
    EXPECT_EQ(named({device, device}), "--device names " + device + " twice");
  }
  EXPECT_EQ(named({}), "1") << "this machine";
}

}  // namespace
}  // namespace whet::measuring_test
