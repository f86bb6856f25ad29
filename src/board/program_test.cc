// The static programs that whet carries, as files.

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "board/embedded.h"

namespace whet::program_test {
namespace {

constexpr std::size_t kMostBytes = 1000000, kMostModelBytes = 80000;

std::vector<BoardProgram> made() {
  std::vector<BoardProgram> programs;
  for (const BoardProgram& program : board_programs())
    if (!program.bytes.empty()) programs.push_back(program);
  return programs;
}

TEST(BoardPrograms, AreNoLargerThanAMegabyte) {
  if (made().empty()) GTEST_SKIP() << "this build makes none: clang++-19 is missing";
  for (const BoardProgram& program : made()) EXPECT_LE(program.bytes.size(), kMostBytes) << program.machine;
}
TEST(BoardPrograms, AreStaticFilesForTheirMachines) {
  for (const BoardProgram& program : made()) {
    Elf64_Ehdr header;
    ASSERT_GE(program.bytes.size(), sizeof header);
    std::memcpy(&header, program.bytes.data(), sizeof header);
    EXPECT_EQ(header.e_machine, program.machine == "aarch64" ? EM_AARCH64 : EM_X86_64);
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, program.bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
      EXPECT_NE(segment.p_type, static_cast<Elf64_Word>(PT_INTERP)) << "it needs a loader on the board";
    }
  }
}
TEST(ModelPrograms, AreSmallAndAskForNoVersionOfTheCLibrary) {
  const std::string paths = WHET_MODEL_PROGRAMS;
  for (std::size_t at = 0; at < paths.size();) {
    const std::size_t end = std::min(paths.find(':', at), paths.size());
    const std::string path = paths.substr(at, end - at);
    at = end + 1;
    if (path.empty()) continue;
    std::stringstream program_bytes;
    program_bytes << std::ifstream(path, std::ios::binary).rdbuf();
    const std::string program = program_bytes.str();
    EXPECT_GT(program.size(), 5000u) << path;
    EXPECT_LE(program.size(), kMostModelBytes) << path;
    EXPECT_EQ(program.find("GLIBC_"), std::string::npos) << path << " needs a version of the C library";
    EXPECT_EQ(program.find("libstdc++"), std::string::npos) << path;
  }
}
TEST(BoardPrograms, KnowEachMachineOnce) {
  for (const BoardProgram& a : board_programs())
    for (const BoardProgram& b : board_programs()) EXPECT_EQ(a.machine == b.machine, &a == &b);
}

}  // namespace
}  // namespace whet::program_test
