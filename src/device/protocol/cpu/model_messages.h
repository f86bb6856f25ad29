#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/message.h"
#include "tensor/tensor.h"

namespace whet {

// The messages of a session by which compiled models run on the device: files travel by their content, then an order names them.

/// A file by its content.
struct BlobName {
  std::string hash;  ///< SHA-256, 64 hexadecimal digits
  std::uint64_t bytes = 0;
  bool operator==(const BlobName&) const = default;
};
/// Bytes of a file that a message has at most, and files that one message names.
constexpr std::size_t kBlobPiece = std::size_t{256} << 10, kMostBlobs = 256;
/// The most bytes of a piece that the device makes.
constexpr std::uint64_t kMadePiece = std::uint64_t{16} << 20;
/// Models that are open at a time, and inputs of one.
constexpr std::size_t kMostModels = 16, kMostModelInputs = 64;

/// "Which of these files do you need?"
struct SessionNeed {
  std::vector<BlobName> blobs;
};
/// The answer, and the answer to each piece.
struct SessionHave {
  std::string refused;               ///< why the device cannot keep them; "" where it can
  std::vector<std::uint64_t> bytes;  ///< of each, from its beginning, that are there; none where it is refused
};
/// A piece of a file that was asked for: it goes on where the device's part of it ends.
struct SessionBlob {
  std::string hash;
  std::uint64_t offset = 0;
  std::string bytes;
  std::uint64_t made = 0;  ///< bytes behind those, which the device makes itself (artifact/made_weights.h)
};

/// What is to be done with models that are open.
enum class ModelWork : std::uint8_t {
  describe = 0,  ///< nothing more: what they are
  run = 1,       ///< one inference of the first, and its outputs
  time = 2,      ///< inferences of the first, each timed
  profile = 3,   ///< inferences of the first, each step timed
  bursts = 4,    ///< of all, alternately
};
template <>
inline constexpr auto kLast<ModelWork> = ModelWork::bursts;
/// Models to open, unless they are open, and work for them. Those that are open and not named are closed.
struct ModelOrder {
  double seconds = 600;  ///< without an answer after which the models' process is ended
  std::vector<BlobName> models, inputs;
  std::uint32_t threads = 0;  ///< as OpenModelOptions has these four
  std::vector<std::uint32_t> cores;
  bool pin = true, map_weights = false;
  ModelWork work = ModelWork::describe;
  double warmup_seconds = 0;      ///< of inferences that do not count
  std::uint32_t warmup_runs = 0;  ///< the same by number
  double timed_seconds = 0;       ///< of inferences that count; of each burst
  std::uint32_t runs = 0;         ///< how many count, 0: by time; how many bursts
};

struct DescribedTensor {
  std::string name;
  TensorType type;
};
/// A model as its library describes it, on the threads that run it there.
struct DescribedModel {
  std::string name, target, required_isa, records, compiler;
  std::uint32_t steps = 0, tuned_threads = 0;
  std::int64_t arena_bytes = 0, weights_bytes = 0;
  double flops = 0, predicted_seconds = 0;
  std::vector<DescribedTensor> inputs, outputs;
  std::uint32_t threads = 0;         ///< of its pool
  std::vector<std::uint32_t> cores;  ///< that they are pinned to; empty: to none
  std::string pool_note, note;
};
/// As whet_step_profile and whet_profile (whet/model.h).
struct ProfiledStep {
  std::string node, op;
  double flops = 0, bytes = 0, predicted_seconds = 0;
  std::uint64_t min_ns = 0, total_ns = 0;
  bool parallel = false;
};
struct ModelProfile {
  std::uint64_t runs = 0, min_ns = 0, total_ns = 0, copy_min_ns = 0, copy_total_ns = 0;
  std::vector<ProfiledStep> steps;
};

/// The answers to an order: any number of these, of which `over` or `failed` is the last.
enum class ModelAnswerKind : std::uint8_t {
  over = 0,
  failed = 1,
  opened = 2,
  outputs = 3,
  times = 4,
  profile = 5,
  burst = 6,
};
struct ModelAnswer {
  ModelAnswerKind kind = ModelAnswerKind::over;
  std::string sentence;              ///< failed: why
  std::int32_t model = -1;           ///< failed, opened, burst: which one; -1: none of them
  DescribedModel opened;             ///< opened
  std::vector<std::string> sandbox;  ///< opened: the layers around the models' process
  std::vector<std::string> outputs;  ///< outputs: the contents of each
  std::vector<double> seconds;       ///< times: of inferences, in order; burst: the median and the fastest
  ModelProfile profile;              ///< profile
};

extern template struct Codec<SessionNeed>;
extern template struct Codec<SessionHave>;
extern template struct Codec<SessionBlob>;
extern template struct Codec<ModelOrder>;
extern template struct Codec<ModelAnswer>;

}  // namespace whet
