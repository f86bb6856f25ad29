#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace whet {

constexpr std::int64_t kMostThreads = 1024;            ///< of a block
constexpr std::int64_t kMostBlocks = (1ll << 31) - 1;  ///< of a launch

/// The two loops of a launch (program.h) and the statements of a thread. Valid as long as the statement.
struct LaunchNest {
  const Loop* blocks = nullptr;
  const Loop* threads = nullptr;
  std::int64_t grid = 0;  ///< blocks, 1 to kMostBlocks
  std::int64_t size = 0;  ///< threads of a block, a multiple of 32 up to kMostThreads
  Stmt body;
};
/// Nothing if `s` is no launch.
std::optional<LaunchNest> launch_nest(const Stmt& s);
/// Whether the first statement of the program is a launch.
bool has_launches(const Program&);
/// The statements that no other statement contains.
std::vector<Stmt> top_statements(const Program&);

/// The load that an asynchronous store of `value` copies: one load of an argument or workspace without a mask, alone or
/// as select(guard, load, 0), where neither guard nor indices are data. Null for any other value.
const Load* copied_load(const Program&, const Expr& value);

}  // namespace whet
