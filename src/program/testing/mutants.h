#pragma once

#include <functional>

#include "program/program.h"
#include "target/gpu.h"
#include "tensor/tensor.h"

namespace whet::testing {

/// A program of launches with one mistake.
struct Mutant {
  std::string what;  ///< "`barrier block` after `wait 1` removed"
  Program program;
};

/// Every program that differs from this one in one of these:
///   a barrier of threads   removed, moved up, moved down: over one statement, or out of a loop
///   a wait                 removed; one group more or fewer may be under way
///   a commit               removed
///   a stage                the next or the last one, at one access. A dimension of block memory has stages if a remainder
///                          of a serial loop's index by its extent selects one somewhere. In flat indices it is each such
///                          remainder
///   a predicate            a bound of integers in a condition of an if or select, or in a mask, one more or less
///   a row of four lanes    a column that the next lane has, at one access; an exchange with another row's lane
///   threads                two lets of thread digits have each other's value
std::vector<Mutant> mutants_of(const Program&);

enum class Fate : std::uint8_t {
  refused,   ///< by the verifier
  found,     ///< the interpreter names an error, or an answer differs
  harmless,  ///< no error, and equal bits for three inputs in three orders of blocks and threads
  survived,  ///< no error, and answers so close that a comparison with a tolerance accepts them
};
struct Verdict {
  Fate fate = Fate::survived;
  std::string why;  ///< the error, or how far an answer is off
};
/// `arguments` makes inputs and zero outputs from a seed. The original program has to run without an error. An answer
/// differs that is off by more than `tolerance` of the largest value.
Verdict judge(const Program& original, const Program& mutant, const GpuLimits&,
              const std::function<std::vector<Tensor>(std::uint64_t seed)>& arguments, double tolerance = 1e-5);

/// The fates of all mutants of a program, which the verifier accepts.
struct Census {
  std::int64_t refused = 0, found = 0, harmless = 0;
  std::vector<std::string> harmless_ones, survivors;
};
Census judge_mutants(const Program&, const GpuLimits&,
                     const std::function<std::vector<Tensor>(std::uint64_t seed)>& arguments);

}  // namespace whet::testing
