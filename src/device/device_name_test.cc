#include "device/device_name.h"

#include <gtest/gtest.h>

#include "device/local/gpus.h"
#include "device/make_device.h"

namespace whet {
namespace {

TEST(DeviceName, IsReadAsItIsWritten) {
  for (const char* text : {"", "emulated", "cuda:0", "cuda:13"}) {
    const auto name = parse_device_name(text);
    ASSERT_TRUE(name.ok()) << name.error().message;
    EXPECT_EQ(to_string(*name), text);
  }
}
TEST(DeviceName, NamesWhatWouldBeRight) {
  for (const char* text : {"cuda", "cuda:", "cuda:-1", "cuda:1x", "gpu", "emulated:1"})
    EXPECT_EQ(parse_device_name(text).error().message,
              "--device is \"" + std::string(text) + "\"; expected cuda:0, cuda:1, ... or emulated");
}

}  // namespace
}  // namespace whet
