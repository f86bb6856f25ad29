#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace whet {

/// A loop without another loop inside, as the machine code has it.
struct MachineLoop {
  std::vector<std::string> instructions;
  std::vector<std::string> multiply_adds;  ///< fused, of vectors
  std::vector<std::string> spills;         ///< move a vector to or from the stack, or read one there as an operand

  std::string text() const {
    std::string all;
    for (const std::string& instruction : instructions) all += instruction + "\n";
    return all;
  }
};

namespace machine_loop_detail {

struct Instruction {
  std::int64_t at = 0;
  std::string text;
};

/// The lines of `disassemble`, "1f:\tvmovups\tzmm0, zmmword ptr [rsi]"; others are no instructions.
inline std::vector<Instruction> parse(const std::string& code) {
  std::vector<Instruction> list;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) continue;
    list.push_back({std::stoll(line.substr(0, colon), nullptr, 16), line.substr(colon + 2)});
  }
  return list;
}

/// Where a jump goes, or -1.
inline std::int64_t jumps_to(const std::string& text) {
  const std::size_t operand = text.find("\t0x");
  return text.starts_with("j") && operand != std::string::npos ? std::stoll(text.substr(operand + 1), nullptr, 16) : -1;
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
inline bool names_vector(const std::string& text) { return has(text, "xmm") || has(text, "ymm") || has(text, "zmm"); }

}  // namespace machine_loop_detail

/// The innermost loops of a kernel's `disassemble`, in the order of the code.
inline std::vector<MachineLoop> innermost_loops(const std::string& code) {
  using namespace machine_loop_detail;
  const std::vector<Instruction> list = parse(code);
  // rbp is a register like others unless the function's frame is reached through it.
  const bool framed = has(code, "mov\trbp, rsp");
  const auto on_stack = [&](const std::string& t) { return has(t, "[rsp") || (framed && has(t, "[rbp")); };

  struct Span {
    std::int64_t first, last;
  };
  std::vector<Span> spans;  // one a header
  for (const Instruction& i : list)
    if (const std::int64_t to = jumps_to(i.text); to >= 0 && to <= i.at) {
      const auto same = std::find_if(spans.begin(), spans.end(), [&](const Span& s) { return s.first == to; });
      if (same == spans.end())
        spans.push_back({to, i.at});
      else
        same->last = std::max(same->last, i.at);
    }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });

  std::vector<MachineLoop> loops;
  for (const Span& span : spans) {
    const bool innermost = std::none_of(spans.begin(), spans.end(), [&](const Span& other) {
      return other.first > span.first && other.last <= span.last;
    });
    if (!innermost) continue;
    MachineLoop loop;
    for (const Instruction& i : list) {
      if (i.at < span.first || i.at > span.last) continue;
      loop.instructions.push_back(i.text);
      if (!names_vector(i.text)) continue;
      if (i.text.starts_with("vfmadd")) loop.multiply_adds.push_back(i.text);
      if (on_stack(i.text)) loop.spills.push_back(i.text);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

/// The innermost loops in which a kernel spends its time: those that hold at least half as many fused multiply-adds as
/// the fullest one. The full one comes in variants (edges of a picture, rows of taps), which are meant too.
inline std::vector<MachineLoop> main_loops(const std::string& code) {
  std::vector<MachineLoop> loops = innermost_loops(code);
  std::size_t most = 1;
  for (const MachineLoop& loop : loops) most = std::max(most, loop.multiply_adds.size());
  std::erase_if(loops, [&](const MachineLoop& loop) { return 2 * loop.multiply_adds.size() < most; });
  return loops;
}

}  // namespace whet
