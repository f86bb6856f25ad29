#include "fleet/access.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "fleet/queue.h"

namespace whet::fleet_access_test {
namespace {

const char* const kText = "server tls://lab1:4222\nuser ann\nrole tuner\n";

std::string why_no_access(const std::string& text) {
  const auto access = parse_fleet_access(text);
  return access.ok() ? "" : access.error().message;
}
std::string why_no_address(const std::string& text) {
  const auto address = parse_address(text);
  return address.ok() ? "" : address.error().message;
}

TEST(FleetAccess, IsAFileOfThreeLines) {
  const FleetAccess access = parse_fleet_access(kText).value();
  EXPECT_EQ(access.server, "tls://lab1:4222");
  EXPECT_EQ(access.user, "ann");
  EXPECT_EQ(access.role, FleetAccess::Role::tuner);
  EXPECT_EQ(to_text(access), kText);
}
TEST(FleetAccess, NamesTheLineThatIsWrong) {
  EXPECT_EQ(why_no_access("user ann\n"), "no line names the server");
  EXPECT_EQ(why_no_access("server tls://a:1\n"), "no line names the user");
  EXPECT_EQ(why_no_access("server http://a:1\n"), "the server is \"http://a:1\"; expected tls://host:port");
  EXPECT_EQ(why_no_access("user a.b\n"), "the user is \"a.b\"; expected letters, digits, - and _");
  EXPECT_EQ(why_no_access("role king\n"), "the role is \"king\"; expected tuner, agent or admin");
  EXPECT_EQ(why_no_access("password x\n"),
            "\"password x\" is no line of it; expected server, user or role and a value");
}
TEST(FleetAccess, IsReadFromAUsersFolder) {
  const auto missing = read_fleet_access("/nowhere");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            "/nowhere/fleet cannot be read: expected the folder of one user that whet-agent --setup wrote");
}
TEST(FleetAccess, SurvivesGarbage) {
  Rng rng(9);
  for (int round = 0; round < 20000; ++round) {
    std::string text = kText;
    for (int i = 0; i < 2; ++i)
      text[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size())))] =
          static_cast<char>(rng.below(256));
    const auto access = parse_fleet_access(text);
    if (!access.ok()) continue;
    const auto again = parse_fleet_access(to_text(*access));
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(again->server, access->server);
  }
}
TEST(Addresses, AreAHostAndAPort) {
  EXPECT_EQ(parse_address("lab1:4222").value().host, "lab1");
  EXPECT_EQ(parse_address("[fe80::1]:80").value().host, "fe80::1");
  EXPECT_EQ(parse_address("10.0.0.7:1").value().port, 1);
  for (const char* wrong : {"", "lab1", "lab1:", ":1", "lab1:0", "lab1:65536", "lab1:1x", "-a:1", "a b:1", "fe80::1:80",
                            "[lab1]:1", "a\":1"})
    EXPECT_EQ(why_no_address(wrong),
              "the address is \"" + std::string(wrong) + "\"; expected host:port, as in lab1:4222");
}

}  // namespace
}  // namespace whet::fleet_access_test
