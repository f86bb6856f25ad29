#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/size.h"
#include "passes/fuse.h"
#include "task/task.h"

namespace whet {

/// A task of a network with sizes. It has sizes of its own, as few as its numbers need: the rows of a product are one size,
/// whatever they are a product of.
struct SizedTask {
  /// Its dag has sizes where it changes, with the ranges that they have in the variant's boxes; key, name and `within` are those at
  /// the variant's `at`.
  Task task;
  std::vector<Expr> sizes = {};  ///< of the dag, as functions of the network's
  /// Extents of `task.within` as functions of the dag's sizes; undefined: the same at all; empty: none changes.
  std::vector<Expr> within = {};
};

/// The values of the task's own sizes at these of the network.
SizeValues own_sizes(const SizedTask&, const SizeValues& at);
/// The task with its numbers at these sizes of the network; where these are none, or it has none, as it is.
Task task_at(const SizedTask&, const SizeValues& at);

/// Where a constant of a size lies in that of the size at which the variant was read.
struct ConstantWindow {
  std::vector<Expr> begin;  ///< one a dimension, of the network's sizes; undefined: 0; empty: 0 in all
};

/// A network at all sizes of some boxes: one structure, whose numbers are functions of the sizes.
struct Variant {
  std::vector<SizeBox> boxes;  ///< disjoint; one point: an exact size
  FusedGraph fused;            ///< as it was read at `at`, with the largest constants
  SizeValues at;               ///< the largest of the boxes, first by first: of one box its `high`
  std::vector<SizedTask> tasks;
  std::map<ValueId, std::vector<Expr>> shapes;  ///< of values that change: undefined where an extent is the same
  std::map<ValueId, Expr> offsets;              ///< of aliases and parts that change [bytes]
  std::map<ValueId, ConstantWindow> windows;    ///< of constants whose shape changes
  std::int64_t numbers = 0, changing = 0;       ///< of the structure
  /// The functions by how they are written, and how many numbers each gives.
  std::vector<std::pair<std::string, int>> forms;
};

struct Family {
  std::vector<SizeRange> sizes;
  std::vector<Variant> variants;  ///< by their least sizes
  std::int64_t points = 0;        ///< all combinations of the sizes
  std::int64_t checked = 0;       ///< those at which the network was read and compared
};

/// Which concatenations of a network at several sizes need no kernel, because those that compute the parts write them in place.
enum class InPlaceParts : std::uint8_t {
  none,
  /// Those that are so at all sizes: parts along the last axis, which has one extent and the same parts at all, and parts that are
  /// contiguous in the whole, which begins all of them on cache lines whatever the sizes are.
  at_all_sizes,
  all,  ///< as a network of one size has them
};

struct FamilyOptions {
  /// Up to this number all combinations are read; else each axis, with the others at both ends, and `seeded` ones.
  std::int64_t most_points = 1024;
  std::int64_t seeded = 512;
  std::uint64_t seed = 0;
  std::size_t most_variants = 16;
  InPlaceParts in_place = InPlaceParts::all;
  /// Is told how many sizes were read, of how many; an error ends the search.
  std::function<Status(std::int64_t read, std::int64_t all)> on_point = {};
};

/// The values of the sizes to a network.
using ReadAtSizes = std::function<Result<FusedGraph>(const SizeValues&)>;

/// Reads the network at some sizes, finds the functions, and compares at all sizes that it reads. Sizes whose numbers fit no function
/// are variants of one size where they are few. Constants are compared byte by byte with those at the largest sizes of their variant;
/// those of more than 64 KB and one shape at some sizes only. A structure whose largest sizes were not the first ones that were read is
/// read again, from these on.
/// Errors: a size at which the network cannot be read, with the sizes at which it can; a network whose nodes are as many as a size
/// is long; constants and numbers that are no function.
Result<Family> find_family(const std::vector<SizeRange>&, const ReadAtSizes& read, const FamilyOptions& options = {});
/// The sizes that it reads at first, in this order: the largest ones first.
std::vector<SizeValues> sizes_to_read(const std::vector<SizeRange>&, const FamilyOptions& options = {});
/// The same with values that are listed: `values` has one list a size, ascending. Each combination is a variant of its own.
Result<Family> exact_family(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& values,
                            const ReadAtSizes& read, const FamilyOptions& options = {});

/// The variant that has these sizes; null: none.
const Variant* variant_at(const Family&, const SizeValues&);

/// "n=1..512, b=1..32"
std::string to_text(const std::vector<SizeRange>&);
/// "n=5, b=2"
std::string to_text(const std::vector<SizeRange>&, const SizeValues&);

}  // namespace whet
