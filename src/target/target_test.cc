#include "target/target.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet {
namespace {

std::string error_of(std::string_view text) {
  const Result<Target> target = parse_target(text);
  return target.ok() ? "no error" : target.error().message;
}

TEST(ParseTarget, DerivesRegistersAndCachesFromTheProcessor) {
  const Target zen5 = *parse_target("cpu -mcpu=znver5 -threads=2");
  EXPECT_EQ(zen5.cpu().vector_bytes, 64);
  EXPECT_EQ(zen5.cpu().vector_registers, 32);
  EXPECT_TRUE(zen5.cpu().fma);
  EXPECT_EQ(zen5.cpu().l1_bytes, 48 << 10);
  const Target haswell = *parse_target("cpu -mcpu=haswell");
  EXPECT_EQ(haswell.cpu().vector_bytes, 32);
  EXPECT_EQ(haswell.cpu().vector_registers, 16);
  EXPECT_TRUE(haswell.cpu().fma);
  EXPECT_EQ(haswell.cpu().lanes(4), 8);
}
TEST(ParseTarget, DerivesTheInstructionSetFromTheProcessor) {
  const Target a72 = *parse_target("cpu -mcpu=cortex-a72 -threads=4");
  EXPECT_EQ(a72.cpu().isa, Isa::aarch64);
  EXPECT_EQ(a72.cpu().vector_bytes, 16);
  EXPECT_EQ(a72.cpu().vector_registers, 32);
  EXPECT_TRUE(a72.cpu().fma);
  EXPECT_EQ(a72.cpu().l1_ways(), 2);
  EXPECT_EQ(parse_target("cpu -mcpu=cortex-a76")->cpu().l1_ways(), 4);
  EXPECT_EQ(parse_target("cpu -mcpu=haswell")->cpu().l1_ways(), 8);
  EXPECT_EQ(llvm_processor(parse_target("cpu -mcpu=aarch64")->cpu()), "generic");
  EXPECT_EQ(error_of("cpu -mcpu=cortex-a72 -mattr=+avx512f"),
            "target: -mattr has \"+avx512f\", which is no feature that whet knows of cortex-a72");
}
TEST(TargetDistance, SchedulesOfOtherInstructionSetsAreOfNoUse) {
  // Vectors of both have 16 bytes.
  EXPECT_FALSE(target_distance(*parse_target("cpu -mcpu=x86-64"), *parse_target("cpu -mcpu=cortex-a72")).has_value());
  EXPECT_TRUE(
      target_distance(*parse_target("cpu -mcpu=cortex-a76"), *parse_target("cpu -mcpu=cortex-a72")).has_value());
}
TEST(ParseTarget, AloneMeansTheBaselineOnOneThread) {
  const Target target = *parse_target("cpu");
  EXPECT_EQ(to_string(target), "cpu -mcpu=x86-64 -threads=1");
  EXPECT_EQ(target.cpu().vector_bytes, 16);
  EXPECT_FALSE(target.cpu().fma);
}
TEST(ParseTarget, LetsSwitchesAddAndRemoveFeatures) {
  EXPECT_EQ(parse_target("cpu -mcpu=x86-64 -mattr=+avx2,+fma")->cpu().vector_bytes, 32);
  EXPECT_TRUE(parse_target("cpu -mcpu=x86-64 -mattr=+avx2,+fma")->cpu().fma);
  EXPECT_EQ(parse_target("cpu -mcpu=znver5 -mattr=-avx512f")->cpu().vector_bytes, 32);
  EXPECT_EQ(parse_target("cpu -mcpu=znver5 -mattr=-avx512f")->cpu().vector_registers, 16);
  EXPECT_EQ(parse_target("cpu -mcpu=znver5 -mattr=-avx2")->cpu().vector_bytes, 16);
  EXPECT_FALSE(parse_target("cpu -mcpu=znver5 -mattr=-avx2")->cpu().fma);
}
TEST(ParseTarget, KnowsWhichProcessorsMultiplyBf16) {
  const auto multiplies = [](const std::string& text) {
    return parse_target("cpu -mcpu=" + text)->cpu().bf16_products;
  };
  for (const char* has : {"znver4", "sapphirerapids", "cooperlake", "cascadelake -mattr=+avx512bf16"})
    EXPECT_TRUE(multiplies(has)) << has;
  for (const char* lacks : {"znver3", "icelake-server", "znver4 -mattr=-avx512bf16", "znver4 -mattr=-avx512f",
                            "haswell -mattr=+avx512bf16", "neoverse-n2"})
    EXPECT_FALSE(multiplies(lacks)) << lacks;
}
TEST(ParseTarget, KnowsWhichProcessorsHaveTiles) {
  const auto tiles = [](const std::string& text) {
    const Target target = *parse_target("cpu -mcpu=" + text);
    return std::pair(target.cpu().bf16_tiles, target.cpu().byte_tiles);
  };
  EXPECT_EQ(tiles("sapphirerapids"), std::pair(true, true));
  EXPECT_EQ(tiles("graniterapids -mattr=-amx-bf16"), std::pair(false, true));
  EXPECT_EQ(tiles("emeraldrapids -mattr=-amx-int8"), std::pair(true, false));
  for (const char* lacks :
       {"sapphirerapids -mattr=-amx-tile", "sapphirerapids -mattr=-avx512f", "znver5", "neoverse-n2"})
    EXPECT_EQ(tiles(lacks), std::pair(false, false)) << lacks;
}
TEST(ParseTarget, SaysWhatWasFoundAndWhatWouldBeRight) {
  EXPECT_EQ(error_of("cpu -mcpu=znver55"),
            "target: -mcpu is \"znver55\"; expected a processor of `whet target --list`; did you mean \"znver5\"?");
  EXPECT_EQ(error_of("gpu"), "target: kind is \"gpu\"; expected cpu or cuda, as in \"cpu -mcpu=haswell -threads=2\"");
  EXPECT_EQ(error_of("llvm -mcpu=skylake-avx512"),
            "target: kind is \"llvm\", which is cpu here; write \"cpu -mcpu=skylake-avx512\"");
  EXPECT_EQ(error_of("cpu -thread=2"),
            "target: unknown switch \"-thread\"; expected -mcpu=, -mattr=, -threads=, -cores= or -caches=; did you "
            "mean \"-threads\"?");
  EXPECT_EQ(error_of("cpu -threads=0"), "target: -threads is \"0\"; expected a number from 1 to 1024");
  EXPECT_EQ(error_of("cpu -threads=2x"), "target: -threads is \"2x\"; expected a number from 1 to 1024");
  EXPECT_EQ(error_of("cpu -cores=medium"), "target: -cores is \"medium\"; expected big, little or prime");
  EXPECT_EQ(error_of("cpu -mattr=avx2"), "target: -mattr has \"avx2\"; expected switches like +avx512f,-fma");
  EXPECT_EQ(
      error_of("cpu -mattr=+avx521f"),
      "target: -mattr has \"+avx521f\", which is no feature that whet knows of x86-64; did you mean \"avx512f\"?");
  EXPECT_EQ(error_of(""), "target: the text is empty; expected something like \"cpu -mcpu=haswell -threads=2\"");
}
TEST(ParseTarget, TakesCachesInThePlaceOfTheProcessors) {
  const Target target = *parse_target("cpu -mcpu=haswell -caches=48K,3M,1G");
  EXPECT_EQ(target.cpu().l1_bytes, 48 << 10);
  EXPECT_EQ(target.cpu().l2_bytes, 3 << 20);
  EXPECT_EQ(target.cpu().l3_bytes, 1 << 30);
  EXPECT_EQ(to_string(target), "cpu -mcpu=haswell -threads=1") << "records are of the processor";
  EXPECT_EQ(parse_target("cpu -caches=32768,1M,8M -mcpu=haswell")->cpu().l1_bytes, 32768);
  EXPECT_EQ(parse_target("cpu -mcpu=cortex-a72 -caches=8K,1M,8M")->cpu().l1_ways(), 1);
  for (const char* wrong :
       {"", "48K", "48K,1M", "48K,1M,x", "48K,1M,0", "-1K,1M,8M", "48k,1M,8M", "1,1M,8M", "48K,1M,9999999999G"})
    EXPECT_EQ(
        error_of(std::string("cpu -caches=") + wrong),
        "target: -caches is \"" + std::string(wrong) + "\"; expected the sizes of L1, L2 and L3, like 48K,1M,32M");
}
TEST(Target, TextParsesBackToTheSameTarget) {
  for (const std::string& processor : known_processors()) {
    const bool arm = parse_target("cpu -mcpu=" + processor)->cpu().isa == Isa::aarch64;
    const char* switches = arm ? " -mattr=+dotprod,-sve -threads=7" : " -mattr=+avx512f,-amx-tile -threads=7";
    for (const char* rest : {"", switches, " -threads=3 -cores=little"}) {
      const Target target = *parse_target("cpu -mcpu=" + processor + rest);
      EXPECT_EQ(*parse_target(to_string(target)), target) << to_string(target);
    }
  }
}
TEST(CodeKey, TellsApartTargetsOfDifferentCode) {
  const auto key = [](const char* text) { return code_key(parse_target(text)->cpu()); };
  EXPECT_EQ(key("cpu -mcpu=znver4"), key("cpu -mcpu=znver4 -threads=2 -cores=little"));
  EXPECT_NE(key("cpu -mcpu=znver4"), key("cpu -mcpu=znver5"));
  EXPECT_NE(key("cpu -mcpu=znver4"), key("cpu -mcpu=znver4 -mattr=-avx512f"));
  CpuTarget other;
  other.vector_registers = 32;
  EXPECT_NE(code_key(other), code_key(CpuTarget()));
}

TEST(ParseTarget, TakesAnyBytes) {
  Rng rng(7);
  const std::string_view letters = "cpu -mattr=+-threads,avx512f\t\0\xff";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::int64_t n = rng.below(40); n > 0; --n)
      text += letters[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(letters.size())))];
    const Result<Target> target = parse_target(text);
    EXPECT_TRUE(target.ok() || !target.error().message.empty());
  }
}

}  // namespace
}  // namespace whet
