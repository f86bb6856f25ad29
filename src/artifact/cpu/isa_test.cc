#include "artifact/cpu/isa.h"

#include <gtest/gtest.h>

#include <cstring>

namespace whet {
namespace {

TEST(Isa, NamesItsBits) {
  for (int bit = 0; bit < kIsaCount; ++bit) {
    const char* name = kIsaTable[bit].name;
    EXPECT_EQ(isa_bit(name, std::strlen(name)), bit) << name;
  }
  EXPECT_EQ(isa_bit("avx1024", 7), -1);
  EXPECT_EQ(isa_bit("avx", 2), -1);
}

#if defined(__x86_64__)
TEST(Isa, AgreesWithTheCompilersView) {
  const IsaSet host = host_isa();
  const auto has = [&](const char* name) { return bool((host >> isa_bit(name, std::strlen(name))) & 1); };
  EXPECT_EQ(has("sse4.2"), bool(__builtin_cpu_supports("sse4.2")));
  EXPECT_EQ(has("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(has("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(has("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(has("avx512vnni"), bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(has("lzcnt"), bool(__builtin_cpu_supports("lzcnt"))) << "of another leaf";
  EXPECT_EQ(has("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16"))) << "of another subleaf";
}
#endif

}  // namespace
}  // namespace whet
