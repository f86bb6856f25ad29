#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import/file_model.h"
#include "passes/optimize.h"
#include "ranges/ranges.h"
#include "target/target.h"
#include "workflow/model.h"

namespace whet {

/// What is asked of a size: a range, or values that are listed.
struct WantedSize {
  std::string name;                  ///< as it was written: "n", "x.0"
  SizeRange range;                   ///< of all its values
  std::vector<std::int64_t> listed;  ///< ascending; empty: the whole range
};
/// "n=1..512", "x.2=64..960:32", "x.0={1,2,4,8}" (or without braces), "n=7". Several entries of one name are one list, as a shell writes
/// braces out.
Result<std::vector<WantedSize>> parse_sizes(const std::vector<std::string>& entries);
/// "1..512", "{1,2,4}"
std::string to_text(const WantedSize&);

/// An open dimension of a model's inputs.
struct OpenSize {
  std::string symbol;                                           ///< of the file; may be empty
  std::vector<std::pair<std::string, std::size_t>> dimensions;  ///< inputs and their dimensions that have it
  std::int64_t least = 1;
  std::optional<std::int64_t> most;   ///< none: the file has no bound
  std::optional<std::int64_t> usual;  ///< where nothing binds it
  std::optional<std::int64_t> fixed;  ///< the extent in the file of a dimension that it does not leave open
  std::int64_t step = 1;              ///< it is a multiple of this

  /// "ids.1"
  std::string name() const;
  /// The range that the file says, where it says one.
  std::optional<SizeRange> range() const;
};
/// "ids.1=1..512": the range of the file, or one that might be meant.
std::string example_of(const OpenSize&);
/// In the order of the inputs. A built-in network has the sizes `batch` and, where it takes pictures, `image`.
std::vector<OpenSize> open_sizes(const std::vector<FileInput>&);
Result<std::vector<OpenSize>> open_sizes(const ModelOptions&);

/// The sizes that the file bounds, as torch.export and SIZE lines do, and that no shape or value binds: a library is for all of them where nothing else
/// is said.
Result<std::vector<OpenSize>> bounded_sizes(const ModelOptions&, const InputFiles&);

/// A model's sizes, and its options at values of them, one a size.
struct SizedModel {
  std::vector<WantedSize> sizes;
  std::function<Result<ModelOptions>(const SizeValues&)> at;
  /// One list a size: the inputs and their dimensions that the file, or the built-in network, has it in.
  std::vector<std::vector<std::pair<std::string, std::size_t>>> dimensions = {};
};
/// The sizes that the options name, then those that the file bounds. Errors: those of load_family that concern names.
Result<SizedModel> sized_model(const ModelOptions&, const InputFiles&);

/// The error with lists that may be given instead of ranges: " --sizes 'n={1,2,4,8,16}'".
Error with_lists(Error, const std::vector<WantedSize>&);
/// An error where a size is a range and the target has no kernels that take sizes.
Status check_ranges(const std::vector<WantedSize>&, const Target&);
/// Whether some size is a range.
bool has_ranges(const std::vector<WantedSize>&);
/// Who reads a model at many sizes tells of every 32nd.
inline constexpr std::int64_t kSizesUntilTold = 32;
/// A model at all values of its sizes, as one library has it: variants of ranges for each choice of the values that are listed, with
/// the concatenations in place that are so at all sizes. Errors: of find_family; more values than are read.
///   on_point  as FamilyOptions has it
Result<Family> family_of_ranges(const std::vector<WantedSize>&, const ReadAtSizes& read,
                                const std::function<Status(std::int64_t read, std::int64_t all)>& on_point = {});

/// The same of a model that is read by these passes, as those of ranges are.
Result<Family> family_of_library(const SizedModel&, const InputFiles&, const PassOptions&,
                                 const std::function<Status(std::int64_t read, std::int64_t all)>& on_point = {});

/// A model for all sizes that its options name. Sizes that the file bounds and nothing names have their whole range. A dimension that the
/// file has fixed may be named too, where all nodes follow (ranges/follow.h); the first one stands for those of other inputs.
/// Errors: of find_family; a name that is no size of the model; a range wider than the file's; a dimension that --shape binds too; no size
/// at all.
Result<Family> load_family(const ModelOptions&, const PassOptions& = {}, const FamilyOptions& = {});

}  // namespace whet
