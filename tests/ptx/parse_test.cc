#include "ptx/ptx.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "ptx/machine.h"

namespace whet::ptx {
namespace {

const std::string kBlockMemory = ".extern .shared .align 128 .b8 block_memory[];\n";

/// What the code generator's tests hold, which has no head.
std::vector<std::string> emitted() {
  std::vector<std::string> texts;
  for (const auto& file : std::filesystem::directory_iterator(checkout_path("src/codegen/gpu/testdata/hooks"))) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    texts.push_back(kBlockMemory + text.str());
  }
  return texts;
}

std::string entry(const std::string& body) {
  return kBlockMemory +
         ".visible .entry k(.param .u64 x)\n{\n.reg .pred %p<4>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<9>;\n.reg .f32 "
         "%f<9>;\n" +
         ".reg .b64 %rd<9>;\n" + body + "\n}\n";
}
/// The first line of a body is line 9.
std::string refusal(const std::string& text) {
  const Result<Module> module = parse(text);
  return module.ok() ? "read" : module.error().message;
}

TEST(ReadingPtx, TakesEveryInstructionThatTheHooksBecome) {
  const std::vector<std::string> texts = emitted();
  EXPECT_GE(texts.size(), 35u);
  for (const std::string& text : texts) EXPECT_EQ(refusal(text), "read") << text;
}

TEST(ReadingPtx, GivesEntriesWithTheirCode) {
  const Result<Module> module = parse(
      ".version 7.0\n.target sm_80\n.address_size 64\n// a comment\n.visible .entry k(\n.param .u64 k_param_0,\n"
      ".param .u64 k_param_1\n)\n.maxntid 128, 1, 1\n.minnctapersm 4\n{\n.reg .pred %p<2>;\n.reg .f32 %f<3>;\n"
      "$L__BB0_1:\n.pragma \"nounroll\";\nfma.rn.ftz.f32 %f1, %f1, 0f40000000, 0f3F800000;\n@!%p1 bra "
      "$L__BB0_1;\nret;\n}\n");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->version, "7.0");
  EXPECT_EQ(module->target, "sm_80");
  ASSERT_NE(module->find("k"), nullptr);
  EXPECT_EQ(module->find("other"), nullptr);
  const Entry& k = *module->find("k");
  EXPECT_EQ(k.most_threads, 128);
  ASSERT_EQ(k.parameters.size(), 2u);
  EXPECT_EQ(k.parameters[1].name, "k_param_1");
  ASSERT_EQ(k.code.size(), 3u);
  EXPECT_EQ(k.kinds, (std::vector<std::string>{"fma.rn.ftz.f32", "bra", "ret"}));
  EXPECT_EQ(k.code[0].op, Op::fma);
  EXPECT_TRUE(k.code[0].flushes);
  EXPECT_EQ(k.code[0].line, 16);
  EXPECT_EQ(k.code[1].target, 0);
  EXPECT_FALSE(k.code[1].guard_is);
}

TEST(ReadingPtx, KeepsNamesBetweenTheirBraces) {
  EXPECT_EQ(refusal(entry(
                "{ .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd1; }\n{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r1; }\nret;")),
            "read");
  EXPECT_EQ(refusal(entry("{ .reg .b32 tmp; }\nmov.b32 tmp, %r1;")), "line 10: `tmp` is no register");
  EXPECT_EQ(refusal(entry("{ WAIT: bra DONE; }\nDONE: ret;")), "read");
  EXPECT_EQ(refusal(entry("{ WAIT: ret; }\nbra WAIT;")), "line 10: no label `WAIT`");
}

TEST(ReadingPtx, RefusesWhatWhetDoesNotEmitByName) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"add.f16 %rs1, %rs1, %rs2;", "line 9: `add.f16` is no instruction that whet emits"},
      {"vote.sync.any.pred %p1, %p2, -1;", "line 9: `vote.sync.any.pred` is no instruction that whet emits"},
      {"setp.s32 %p1, %r1, %r2;", "line 9: `setp.s32` is no instruction that whet emits"},
      {"ld.global.global.f32 %f1, [%rd1];", "line 9: `ld.global.global.f32` is no instruction that whet emits"},
      {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1};",
       "line 9: `mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32` is no instruction that whet emits"},
      {"add.s32 %r1, %r2;", "line 9: `;` where `,` must be"},
      {"add.s32 %r1, %r2, %r3, %r4;", "line 9: `,` where `;` must be"},
      {"add.s32 %r1, %r2, %rd1;", "line 9: `%rd1` has 64 bits where 32 must be"},
      {"add.s32 %r1, %r2, %r9;", "line 9: `%r9` is no register, number or address"},
      {"add.s32 7, %r2, %r3;", "line 9: `7` is no register"},
      {"mul.wide.u32 %r1, %r2, 4;", "line 9: `%r1` has 32 bits where 64 must be"},
      {"mov.u32 %r1, %tid.y;", "line 9: `%tid.y` is no register, number or address"},
      {"@%r1 ret;", "line 9: `%r1` is no predicate"},
      {"bra NOWHERE;", "line 9: no label `NOWHERE`"},
      {"A: A: ret;", "line 9: a second label `A`"},
      {"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];", "line 9: `ld.global.v4.u64` accesses more than 16 bytes"},
      {"ld.global.v2.f32 %f1, [%rd1];", "line 9: `%f1` where `{` must be"},
      {"ld.global.f32 %f1, [%rs1];", "line 9: `%rs1` has 16 bits where an address must be"},
      {"cp.async.cg.shared.global [%rd1], [%rd2], 8;", "line 9: `cp.async.cg.shared.global` does not copy 8 bytes"},
      {"cp.async.wait_group -1;", "line 9: `-1` is no number from 0 to 1048576"},
      {"mov.b32 {%rs1, %rs2}, {%rs1, %rs2};", "line 9: a mov of parts to parts"},
      {".reg .b8 %b<3>;", "line 9: `.b8` is no type of a register"},
      {".reg .b32 %b<99999999>;", "line 9: `99999999` is no number from 0 to 65536"},
      {"ret; #", "line 9: PTX has no `#` here"},
      {".pragma \"no end", "line 9: a string does not end"}};
  for (const auto& [body, why] : kRefused) EXPECT_EQ(refusal(entry(body)), why);
  EXPECT_EQ(refusal(""), "no entry in the PTX");
  EXPECT_EQ(refusal(".func f();"), "line 1: `.func` is nothing that whet emits outside of an entry");
  EXPECT_EQ(refusal(".visible .entry k(.param .u32 n)\n{\nret;\n}\n"),
            "line 1: a parameter `.u32`; whet's are pointers, .u64");
  EXPECT_EQ(refusal(".visible .entry k()\n{\nret;\n"), "line 4: the body of `k` does not end");
}

/// Emitted text with a few bytes changed is read or refused with a line, and what is read runs to its end or to a sentence.
TEST(ReadingPtx, NeverFallsOverGarbage) {
  const std::vector<std::string> texts = emitted();
  const std::string kBytes = "{}[]<>;,@!%$.:0179-abrsdx \n";
  int read = 0;
  const int cases = testing::random_cases(3000);
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(cases); ++seed) {
    Rng rng(seed);
    std::string text = texts[static_cast<std::size_t>(rng.below(std::ssize(texts)))];
    for (std::int64_t k = rng.between(1, 3); k > 0; --k) {
      const auto at = static_cast<std::size_t>(rng.below(std::ssize(text) - 8));
      const char byte = kBytes[static_cast<std::size_t>(rng.below(std::ssize(kBytes)))];
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit != text.npos && rng.chance(0.5))
        text[digit] = static_cast<char>('0' + rng.below(10));
      else if (rng.chance(0.3))
        text.erase(at, static_cast<std::size_t>(rng.between(1, 8)));
      else if (rng.chance(0.5))
        text.insert(at, 1, byte);
      else
        text[at] = byte;
    }
    const Result<Module> module = parse(text);
    if (!module.ok()) {
      EXPECT_EQ(module.error().message.find('\n'), std::string::npos);
      EXPECT_TRUE(module.error().message.starts_with("line ")) << module.error().message;
      continue;
    }
    ++read;
    std::array<std::byte, 4096> memory{};
    const Entry& entry = module->entries[0];
    const std::vector<Argument> buffers(entry.parameters.size(), GlobalBuffer{"x", memory.data(), std::ssize(memory)});
    const Result<Tally> tally = run(entry, {1, 32, 8192}, buffers, {.seed = seed, .most_instructions = 2000});
    if (!tally.ok()) {
      EXPECT_EQ(tally.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, cases / 20);
}

}  // namespace
}  // namespace whet::ptx
