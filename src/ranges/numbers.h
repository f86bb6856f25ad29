#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "passes/fuse.h"
#include "ranges/ranges.h"
#include "task/in_place.h"
#include "tensor/tensor.h"

namespace whet {

/// A number that may be another one at another size: an integer, or a float.
struct Number {
  DType dtype = DType::i64;
  std::int64_t integer = 0;
  double real = 0;  ///< of a float

  bool is_float() const { return whet::is_float(dtype); }
  /// Bit by bit.
  friend bool operator==(const Number&, const Number&);
};

/// What a network is besides its numbers, and its numbers, in one order: those of two networks whose structures are equal
/// correspond.
struct Parts {
  std::string structure;
  std::vector<Number> numbers;
};

/// Appends a DAG: extents, bounds of indices, constants of its bodies.
void append(const ComputeDag&, Parts&);
/// The DAG whose numbers are functions of sizes, which are at `at`; undefined functions keep the number. One function a number, in
/// the order of `append`. The DAG is not verified.
ComputeDag with_functions(const ComputeDag&, const std::vector<Expr>& functions, std::vector<SizeRange> sizes,
                          SizeValues at);

/// Which concatenations of a network are written in place.
struct InPlaceChoice {
  bool all = false;                       ///< those that are so at the sizes at hand; else
  bool strided = false;                   ///< those whose parts lie along a last axis,
  std::set<std::string> contiguous = {};  ///< and of those with contiguous parts these, by the names of the wholes
};

/// A network as it was read at some values of its sizes.
struct Reading {
  FusedGraph fused;
  std::vector<ComputeDag> dags;  ///< one a group
  InPlace in_place;
  Parts parts;
  std::vector<ValueId> constants;  ///< that kernels, aliases or the user read, in the order of the windows

  // Where numbers begin in `parts.numbers`.
  std::map<ValueId, std::size_t> shape_at;   ///< of a value: its extents
  std::map<ValueId, std::size_t> offset_at;  ///< of an alias: bytes
  std::map<ValueId, std::size_t> part_at;    ///< of a part: bytes, then the extents of the whole
  std::vector<std::size_t> dag_at;           ///< of a group
  std::map<ValueId, std::size_t> window_at;  ///< of a constant: where its window begins, one a dimension
  std::vector<std::pair<std::size_t, std::string>> labels;

  /// What number `i` belongs to: `the shape of "x"`.
  std::string label(std::size_t i) const;
};
/// Errors: a group that is no DAG.
Result<Reading> reading_of(FusedGraph, const InPlaceChoice& = {.all = true});
/// The concatenations that are written in place.
///   dags  of the groups
InPlace parts_in_place(const FusedGraph&, const std::vector<ComputeDag>& dags, const InPlaceChoice&);
/// All at the sizes at hand. Errors: of reading_of.
Result<InPlace> parts_in_place(const FusedGraph&);

/// Where `part` lies in `whole`, which has its rank and dtype: at the beginning, at the end or in the middle of each dimension. Nothing:
/// it is no window of it.
std::optional<std::vector<std::int64_t>> window_in(const Tensor& part, const Tensor& whole);

}  // namespace whet
