#include "codegen/gpu/ptxas.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace whet {
namespace {

TEST(PtxasReport, HasTheMostThatAnEntryTakes) {
  const BuildReport report = read_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
      "ptxas info    : Function properties for a\n"
      "    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 24 bytes cumulative stack size, 376 bytes cmem[0]\n"
      "ptxas info    : Function properties for b\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 128 registers, 376 bytes cmem[0]\n");
  EXPECT_EQ(report.registers, 128);
  EXPECT_EQ(report.spill_bytes, 16);
  EXPECT_EQ(read_ptxas_report("").registers, 0);
}

TEST(Ptxas, SaysWhatItSerialises) {
  const std::string remark =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n";
  EXPECT_EQ(read_ptxas_remarks("ptxas info    : 0 bytes gmem\n" + remark), remark);
}

class PtxasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed";
  }
};

TEST_F(PtxasTest, MakesCodeForTheDevice) {
  const auto assembled =
      assemble_ptx(installed_ptxas(),
                   ".version 7.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
                   "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n",
                   80);
  ASSERT_TRUE(assembled.ok()) << assembled.error().message;
  EXPECT_EQ(assembled->cubin.substr(1, 3), "ELF");
  EXPECT_GT(assembled->report.registers, 0);
  EXPECT_EQ(assembled->report.spill_bytes, 0);
}
TEST_F(PtxasTest, SaysWhatItRefuses) {
  const auto refused = assemble_ptx(installed_ptxas(), ".version 7.0\n.target sm_80\nnonsense\n", 80);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("ptxas: "), 0u);
  EXPECT_GT(refused.error().message.size(), 10u);
}
TEST(Ptxas, ThatIsNotThereIsASentence) { EXPECT_FALSE(assemble_ptx({"/nowhere/ptxas", 13}, "", 80).ok()); }

}  // namespace
}  // namespace whet
