#include "compiler/cpu/required_isa.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

std::string needs(const char* target, IsaSet tiles = 0) {
  const Result<std::string> names = required_isa(parse_target(target).value(), tiles);
  return names.ok() ? names.value() : names.error().message;
}

TEST(RequiredIsa, FollowsTheProcessor) {
  EXPECT_EQ(needs("cpu -mcpu=x86-64"), "");
  EXPECT_EQ(needs("cpu -mcpu=x86-64-v2"), "sse3,ssse3,sse4.1,sse4.2,popcnt");
  EXPECT_EQ(needs("cpu -mcpu=x86-64-v3"), "sse3,ssse3,sse4.1,sse4.2,popcnt,movbe,f16c,avx,avx2,fma,bmi,bmi2,lzcnt");
}

TEST(RequiredIsa, FollowsTheSwitches) {
  EXPECT_EQ(needs("cpu -mcpu=x86-64 -mattr=+avx"), "sse3,ssse3,sse4.1,sse4.2,avx");
  EXPECT_EQ(needs("cpu -mcpu=x86-64-v4 -mattr=-avx512f"), needs("cpu -mcpu=x86-64-v3"));
}

TEST(RequiredIsa, OfAArch64IsWhatLlvmKnowsOfTheProcessor) {
  EXPECT_EQ(needs("cpu -mcpu=cortex-a72"), "neon");
  EXPECT_EQ(needs("cpu -mcpu=aarch64"), "neon");
  EXPECT_EQ(needs("cpu -mcpu=cortex-a76"), "neon,dotprod,fullfp16");
  EXPECT_EQ(needs("cpu -mcpu=neoverse-n2"), "neon,dotprod,fullfp16,sve,i8mm,bf16");
  EXPECT_EQ(needs("cpu -mcpu=neoverse-n2 -mattr=-sve,-bf16"), "neon,dotprod,fullfp16,i8mm");
  EXPECT_EQ(needs("cpu -mcpu=cortex-a72 -mattr=+dotprod"), "neon,dotprod");
}

TEST(RequiredIsa, NamesTheTilesThatKernelsUse) {
  constexpr IsaSet kBytes = isa_set("amx-tile", "amx-int8");
  const std::string names = needs("cpu -mcpu=sapphirerapids", kBytes);
  EXPECT_NE(names.find("amx-tile,amx-int8"), std::string::npos) << names;
  EXPECT_EQ(names.find("amx-bf16"), std::string::npos) << names;
  EXPECT_EQ(needs("cpu -mcpu=znver4", kBytes), needs("cpu -mcpu=znver4"));
}

TEST(RequiredIsa, LeavesOutWhatNoKernelUses) {
  EXPECT_EQ(needs("cpu -mcpu=sapphirerapids").find("amx"), std::string::npos);
  EXPECT_NE(needs("cpu -mcpu=sapphirerapids").find("avx512vnni"), std::string::npos);
}

}  // namespace
}  // namespace whet
