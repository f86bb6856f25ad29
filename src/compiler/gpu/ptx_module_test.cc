#include "compiler/gpu/ptx_module.h"

#include <gtest/gtest.h>

#include <vector>

namespace whet {
namespace {

const std::string kHead = ".version 7.0\n.target sm_80\n.address_size 64\n";
const std::string kMemory = ".extern .shared .align 128 .b8 block_memory[];\n";
const std::string kOne = "//\n// Generated\n//\n\n" + kHead + "\n" + kMemory + ".visible .entry one()\n{\n\tret;\n}\n";
const std::string kTwo = kHead + kMemory + ".visible .entry two()\n{\n\tret;\n}\n";
const std::string kThree = kHead + ".visible .entry three()\n{\n\tret;\n}";

std::string error_of(std::vector<std::string_view> texts) {
  const auto module = join_ptx(texts);
  return module.ok() ? "" : module.error().message;
}

TEST(PtxModule, HasOneHeadAndOneDeclarationOfBlockMemory) {
  const std::vector<std::string_view> texts = {kThree, kOne, kTwo};
  const auto module = join_ptx(texts);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(*module, kHead + ".visible .entry three()\n{\n\tret;\n}\n" + kMemory +
                         ".visible .entry one()\n{\n\tret;\n}\n.visible .entry two()\n{\n\tret;\n}\n");
}
TEST(PtxModule, RefusesTextsThatDoNotGoTogether) {
  std::string newer = kTwo;
  newer.replace(newer.find("sm_80"), 5, "sm_90");
  EXPECT_EQ(error_of({kOne, newer}), "PTX of one model has two heads: .version 7.0 .target sm_90 .address_size 64");
  EXPECT_EQ(error_of({kOne, "ret;"}), "PTX without .version, .target and .address_size");
  EXPECT_EQ(error_of({kOne}), "");
}

}  // namespace
}  // namespace whet
