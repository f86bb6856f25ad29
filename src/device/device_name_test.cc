#include "device/device_name.h"

#include <gtest/gtest.h>

#include "device/local/gpus.h"
#include "device/make_device.h"

namespace whet {
namespace {

TEST(DeviceName, IsReadAsItIsWritten) {
  for (const char* text :
       {"", "emulated", "cuda:0", "cuda:13", "exec:docker exec -i b whet-device --stdio", "ssh://pi5",
        "ssh://pi@10.0.0.7:2222", "ssh://[fe80::1]:22", "ssh://ann@[::1]", "fleet:pi5", "fleet:rk3399-big"}) {
    const auto name = parse_device_name(text);
    ASSERT_TRUE(name.ok()) << name.error().message;
    EXPECT_EQ(to_string(*name), text);
  }
}
TEST(DeviceName, NamesWhatWouldBeRight) {
  for (const char* text : {"cuda",       "cuda:",      "cuda:-1",        "cuda:1x",   "gpu",
                           "emulated:1", "exec:",      "ssh://",         "ssh:pi",    "ssh://-oProxyCommand=x",
                           "ssh://a@-b", "ssh://pi:0", "ssh://pi:99999", "ssh://pi:", "ssh://p i",
                           "ssh://[x]",  "ssh://[::1", "ssh://pi/x",     "fleet:",    "fleet:a.b",
                           "fleet:>"})
    EXPECT_EQ(parse_device_name(text).error().message,
              "--device is \"" + std::string(text) +
                  "\"; expected cuda:0, cuda:1, ..., emulated, ssh://user@host:port, exec:COMMAND or fleet:KEY");
}

}  // namespace
}  // namespace whet
