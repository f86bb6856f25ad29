#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compute/affine.h"
#include "program/launch.h"
#include "program/program.h"
#include "program/verify.h"

namespace whet {

/// What the rules of verify() share at a statement of a program. Each rule is a function or class in a file of its own that reads the
/// state and tells it the faults that it finds. Only the first fault is kept.
struct VerifyState {
  enum class Life : std::uint8_t { unbound, live, ended };
  struct Variable {
    Life life = Life::unbound;
    DType dtype = DType::i64;
    int lanes = 1;
    bool varies = false;  ///< in a launch: between the threads of a block, or with data
    Expr value;           ///< of a let in a launch, in terms of indices of loops; undefined where it is data
  };

  VerifyState(const Program& program, const VerifyOptions& options);

  bool failed() const { return !error.empty(); }
  void fail(std::string what, ErrorKind kind = ErrorKind::invalid_input);
  /// `what` makes the sentence: almost always it is not needed.
  template <typename What>
  void need(bool condition, const What& what) {
    if (!condition) fail(what());
  }

  std::string text(const Expr&) const;
  /// Whether the program has the buffer.
  bool known(SourceId) const;
  /// Of a source that is known.
  const Buffer& buffer(SourceId) const;

  void bind(VarId, const std::string& name, DType, int lanes);
  void unbind(VarId);

  /// Whether two threads of a block may have different values, as far as the expression alone tells.
  bool varies(const Expr&) const;
  /// With the values of lets in their places.
  Expr over_indices(const Expr&) const;

  const Program& program;
  const VerifyOptions& options;
  std::vector<Variable> vars;
  Facts facts;                         ///< of loops, conditions and lets around the statement
  const LaunchNest* launch = nullptr;  ///< around the statement
  std::vector<Expr> varying;           ///< conditions and bounds around it that vary between threads of the launch
  bool in_tile = false;                ///< of a warp
  std::int64_t vector = 1;             ///< iterations of vectorized loops around it
  std::string error;
  ErrorKind kind = ErrorKind::invalid_input;
};

}  // namespace whet
