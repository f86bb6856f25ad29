#pragma once

// NVIDIA's assembler, for tests; where it is not installed they skip with a line.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace whet::testing {

/// PATH, CUDA_HOME, and where the toolkit installs itself; empty: not here.
inline std::string find_ptxas() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (std::error_code none; std::filesystem::exists(folder + "/ptxas", none)) return folder + "/ptxas";
  return "";
}

/// What ptxas says of the first entry, and its machine code.
struct Assembled {
  int registers = -1, spills = -1;
  std::string text;
};

/// The section of the entry in an ELF file.
inline std::string text_of_entry(const std::string& cubin) {
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

inline Assembled assemble(const std::string& ptxas, const std::string& ptx, int arch) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("whet_ptxas_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.ptx") << ptx;
  const std::string in = (folder / "k").string();
  const std::string command =
      ptxas + " -v -arch=sm_" + std::to_string(arch) + " " + in + ".ptx -o " + in + ".cubin 2> " + in + ".log";
  Assembled out;
  const int failed = std::system(command.c_str());
  std::ostringstream log, cubin;
  log << std::ifstream(folder / "k.log").rdbuf();
  cubin << std::ifstream(folder / "k.cubin", std::ios::binary).rdbuf();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(failed, 0) << log.str();
  if (failed != 0) return out;
  const std::string said = log.str();
  const auto number_behind = [&](const std::string& words) {
    const std::size_t at = said.find(words);
    return at == std::string::npos ? -1 : std::atoi(said.c_str() + at + words.size());
  };
  out.registers = number_behind("Used ");
  out.spills = number_behind("stack frame, ");
  out.text = text_of_entry(cubin.str());
  return out;
}

}  // namespace whet::testing
