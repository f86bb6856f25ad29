// What NVIDIA's assembler makes of the kernels, where it is installed: registers, spills, and the share of multiply-adds in
// the innermost loop.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "codegen/compile.h"
#include "codegen/testing/gpu_kernels.h"

namespace whet {
namespace {

namespace fs = std::filesystem;

/// PATH, CUDA_HOME, and where the toolkit installs itself; empty: not here.
std::string find_ptxas() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (std::error_code none; fs::exists(folder + "/ptxas", none)) return folder + "/ptxas";
  return "";
}

/// What ptxas says of the one entry, and its machine code.
struct Assembled {
  int registers = -1, spills = -1;
  std::string text;
};

/// The section of the entry in an ELF file.
std::string text_of(const std::string& cubin) {
  const auto field = [&](std::uint64_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  const std::uint64_t headers = field(40, 8), count = field(60, 2), names = headers + 64 * field(62, 2);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = headers + 64 * i;
    const std::string name = cubin.c_str() + field(names + 24, 8) + field(header, 4);
    if (name.starts_with(".text.")) return cubin.substr(field(header + 24, 8), field(header + 32, 8));
  }
  return "";
}

Assembled assemble(const std::string& ptxas, const std::string& ptx, int arch) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("whet_ptxas_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "k.ptx") << ptx;
  const std::string in = (folder / "k").string();
  const std::string command =
      ptxas + " -v -arch=sm_" + std::to_string(arch) + " " + in + ".ptx -o " + in + ".cubin 2> " + in + ".log";
  Assembled out;
  const int failed = std::system(command.c_str());
  std::ostringstream log, cubin;
  log << std::ifstream(folder / "k.log").rdbuf();
  cubin << std::ifstream(folder / "k.cubin", std::ios::binary).rdbuf();
  fs::remove_all(folder);
  EXPECT_EQ(failed, 0) << log.str();
  if (failed != 0) return out;
  const std::string said = log.str();
  const auto number_behind = [&](const std::string& words) {
    const std::size_t at = said.find(words);
    return at == std::string::npos ? -1 : std::atoi(said.c_str() + at + words.size());
  };
  out.registers = number_behind("Used ");
  out.spills = number_behind("stack frame, ");
  out.text = text_of(cubin.str());
  return out;
}

/// Instructions of 128 bits: the operation is in the lowest 9 (with the form of the operands 12).
struct LoopCount {
  int instructions = 0, multiply_adds = 0;
};
/// The longest loop: from the target of a branch backwards to the branch.
LoopCount longest_loop(const std::string& text, int arch) {
  constexpr std::uint64_t kMultiplyAdd = 0x23, kBranch = 0x947;
  const std::size_t count = text.size() / 16;
  std::vector<std::uint64_t> low(count), high(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&low[i], text.data() + 16 * i, 8);
    std::memcpy(&high[i], text.data() + 16 * i + 8, 8);
  }
  LoopCount longest;
  for (std::size_t i = 0; i < count; ++i) {
    if ((low[i] & 0xfff) != kBranch) continue;
    // The distance from the next instruction in units of 4 bytes: 48 bits from bit 34 on; on newer ones bits 16 to 23 are
    // the lowest.
    std::int64_t distance = static_cast<std::int64_t>((low[i] >> 34 | high[i] << 30) << 16) >> 16;
    if (arch >= 90) distance = distance * 256 + static_cast<std::int64_t>(low[i] >> 16 & 0xff);
    const std::int64_t target = static_cast<std::int64_t>(i) + 1 + distance / 4;
    if (target < 0 || target >= static_cast<std::int64_t>(i)) continue;
    LoopCount loop;
    for (std::size_t k = static_cast<std::size_t>(target); k <= i; ++k) {
      ++loop.instructions;
      loop.multiply_adds += (low[k] & 0x1ff) == kMultiplyAdd;
    }
    if (loop.instructions > longest.instructions) longest = loop;
  }
  return longest;
}

Program program_named(const std::string& name) {
  if (name == "elementwise") return elementwise_kernel(100'000);
  if (name == "row_sum") return row_sum_kernel(1024, 1000);
  if (name == "gemm") return gemm_kernel(1024, 1024, 1024);
  return convolution_kernel(28, 32, 128, 128);
}

/// testdata/ptxas.tsv: kernel, arch, the most registers, bytes of spills, block memory, multiply-adds of the longest loop and
/// its most instructions.
TEST(Assembler, FindsFewRegistersAndNoSpills) {
  const std::string ptxas = find_ptxas();
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not installed";
  std::ifstream table(std::string(WHET_SOURCE_DIR) + "/src/codegen/gpu/testdata/ptxas.tsv");
  std::string line;
  std::getline(table, line);
  int rows = 0;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string name;
    int arch, registers, spills, memory, multiply_adds, instructions;
    ASSERT_TRUE(fields >> name >> arch >> registers >> spills >> memory >> multiply_adds >> instructions) << line;
    const Result<Kernel> kernel =
        compile_kernel(program_named(name), *parse_target("cuda -arch=sm_" + std::to_string(arch)));
    ASSERT_TRUE(kernel.ok()) << line << ": " << kernel.error().message;
    const Assembled made = assemble(ptxas, kernel->code, arch);
    const LoopCount loop = longest_loop(made.text, arch);
    const std::string found = name + "\t" + std::to_string(arch) + "\t" + std::to_string(made.registers) + "\t" +
                              std::to_string(made.spills) + "\t" + std::to_string(kernel->launches[0].block_memory) +
                              "\t" + std::to_string(loop.multiply_adds) + "\t" + std::to_string(loop.instructions);
    EXPECT_GT(made.registers, 0) << found;
    EXPECT_LE(made.registers, registers) << found;
    EXPECT_EQ(made.spills, spills) << found;
    EXPECT_EQ(kernel->launches[0].block_memory, memory) << found;
    EXPECT_EQ(loop.multiply_adds, multiply_adds) << found;
    EXPECT_LE(loop.instructions, instructions) << found;
    ++rows;
  }
  EXPECT_EQ(rows, 18);
}

}  // namespace
}  // namespace whet
