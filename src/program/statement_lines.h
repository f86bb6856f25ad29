#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace whet {

/// The statements of a program by their lines in the text of its body, counted from 1. The program outlives it.
class StatementLines {
 public:
  explicit StatementLines(const Program&);

  /// Of a statement that is no block.
  std::int32_t of(const Stmt& s) const { return lines_.find(&*s)->second; }
  /// "line 12 `u[0, t] = x[t]`"; "the launch" of line 0.
  std::string text_of(std::int32_t line) const;

 private:
  void number(const Stmt&);

  const Program& program_;
  std::vector<Stmt> statements_;  ///< by line, from line 1; undefined: "else"
  std::unordered_map<const StmtNode*, std::int32_t> lines_;
};

}  // namespace whet
