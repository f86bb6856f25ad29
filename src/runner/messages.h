#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/cpu/conditions.h"
#include "artifact/kernel.h"
#include "artifact/outcome_code.h"
#include "base/message.h"
#include "runner/cpu/placement.h"
#include "tensor/dtype.h"

namespace whet {

/// What an argument is to the runner.
enum class ArgumentRole : std::uint8_t {
  activation = 0,  ///< an input that another layer wrote just before
  constant = 1,    ///< weights, packed or not
  output = 2,
};

/// One argument of a kernel: enough to make legal contents for it.
struct ArgumentSpec {
  ArgumentRole role = ArgumentRole::activation;
  DType dtype = DType::f32;
  std::int64_t bytes = 0;
  std::uint64_t seed = 0;
  std::int64_t index_bound =
      0;  ///< > 0: integers 0 .. index_bound-1; kGiven: `seed` is the number of contents that are given; kSizes: sizes_spec
  double low = -1, high = 1;  ///< floats, non-zero; other integers

  static constexpr std::int64_t kGiven = -1, kSizes = -2;
  bool is_given() const { return index_bound == kGiven; }  ///< runner/given.h
  bool is_sizes() const { return index_bound == kSizes; }
  friend bool operator==(const ArgumentSpec&, const ArgumentSpec&) = default;
};

/// A kernel for ranges has at most this number of sizes, each from 1 to 2^31 - 1.
constexpr std::size_t kMostSizesOfAKernel = 3;
/// The argument that tells such a kernel its sizes, in i64: 1 to kMostSizesOfAKernel of them.
ArgumentSpec sizes_spec(const std::vector<std::int64_t>& values);
/// The values that such a spec has.
std::vector<std::int64_t> sizes_in(const ArgumentSpec&);

/// Where the constants of a timed run are (measurement.md).
enum class CacheMode : std::uint8_t { warm = 0, cold = 1, network = 2 };
const char* name_of(CacheMode);
std::optional<CacheMode> parse_cache_mode(std::string_view);

/// How long to look, and when a candidate is given up as clearly slower.
struct TimingPolicy {
  bool classic = false;
  // adaptive: the minimum of `min_runs` runs or of `min_seconds` of runs, whichever is longer, but 500 runs at most; of
  // up to three times as long where no two runs agree
  std::uint32_t min_runs = 3;
  double min_seconds = 5e-3;
  double max_seconds = 1;        ///< enough of any kernel, after one run
  double incumbent_seconds = 0;  ///< 0: none
  double truncate_ratio = 1.3;   ///< two runs slower than this times the incumbent end the measurement
  // classic: `repeat` means over at least `number` runs and `min_repeat_seconds`
  std::uint32_t repeat = 3, number = 1;
  double min_repeat_seconds = 0;

  CacheMode cache = CacheMode::network;
  std::int64_t network_bytes = 0;  ///< what one inference touches: packed weights and activations
  bool guard = true;               ///< the first run is between guard pages
};

/// A kernel and what it works on.
struct KernelJob {
  Kernel kernel;
  std::vector<ArgumentSpec> arguments;
  std::uint32_t threads = 1;
  CpuPlacement cpu;          ///< of no account elsewhere
  std::uint32_t device = 0;  ///< number of the GPU, of no account elsewhere
};

struct MeasureRequest {
  KernelJob job;
  TimingPolicy policy;
};
/// The answer to measure.
struct MeasureReply {
  OutcomeCode code = OutcomeCode::ok;
  std::string message;
  std::vector<double> seconds;
  bool truncated = false;
  double run_seconds = 0;    ///< wall time of everything, loading included
  RunConditions conditions;  ///< of a machine elsewhere; the wire between processes of one machine has none
};

/// Arguments that neither `contents` nor `packed` names are made from their specs.
struct CheckRequest {
  KernelJob job;
  std::vector<std::pair<std::uint32_t, std::string>> contents;  ///< of some arguments
  /// A kernel that runs before and computes arguments of this one: packed constants.
  std::optional<KernelJob> packing;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> packed;  ///< argument of `job`, output argument of `packing`
};
struct CheckReply {
  OutcomeCode code = OutcomeCode::ok;
  std::string message;
  std::vector<std::string> outputs;  ///< bytes of the arguments with role output, in order
};

/// The most bytes that the answer to a request can have: what a runner sends beyond them is no answer.
std::uint64_t most_answer_bytes(const MeasureRequest&);
std::uint64_t most_answer_bytes(const CheckRequest&);

/// A runner's requests and their answers begin with a ticket: a random number that the answer repeats. A kernel runs in the runner's
/// process; what it writes to the runner's socket without having looked for the ticket in memory is no answer.
constexpr std::size_t kTicketBytes = 8;
std::string with_ticket(std::uint64_t ticket, std::string_view message);
/// Takes the ticket from the beginning of a payload; nothing where the payload is shorter.
std::optional<std::uint64_t> take_ticket(std::string_view& payload);

template <>
inline constexpr auto kLast<DType> = DType::i16;
template <>
inline constexpr auto kLast<OutcomeCode> = OutcomeCode{kOutcomeCodes - 1};
extern template struct Codec<KernelJob>;
extern template struct Codec<MeasureRequest>;
extern template struct Codec<MeasureReply>;
extern template struct Codec<CheckRequest>;
extern template struct Codec<CheckReply>;

}  // namespace whet
