#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/kernel.h"
#include "compute/dag.h"
#include "device/local/zygote.h"
#include "runner/messages.h"
#include "tensor/shape.h"
#include "trial/outcome.h"

namespace whet {

/// A candidate as it travels to a builder: texts, so that the builder shares nothing with the tuner.
struct BuildRequest {
  std::string dag;        ///< to_text(ComputeDag)
  std::string steps;      ///< to_text(Steps); empty: the naive schedule
  std::string target;     ///< to_string(Target)
  Shape within = {};      ///< of the tensor that the only output is a part of; empty: the output is whole itself
  bool emulated = false;  ///< the kernel is for the emulated device, not for the target's own
  int driver = 0;         ///< release of CUDA that the GPU's driver is of, like 13; 0: unknown
  friend bool operator==(const BuildRequest&, const BuildRequest&) = default;
};

/// An argument of the kernel, with what it stands for in the task.
struct BuiltArgument {
  enum class Kind : std::uint8_t { input = 0, packed = 1, output = 2, sizes = 3 };
  Kind kind = Kind::input;
  std::uint32_t index = 0;  ///< of the placeholder, of the packing's output, of the task's output
  /// Without a seed; an output that is a part has the bytes of its whole; of a kernel for ranges it is that at the sizes of the DAG.
  ArgumentSpec spec;
};

struct BuildResult {
  OutcomeCode code = OutcomeCode::unknown;
  std::string message;
  Kernel kernel;
  BuildReport report;
  std::vector<BuiltArgument> arguments;
  std::string tree_hash;
  std::string packing;  ///< to_text of the DAG that packs the constants; empty when nothing is packed
  double seconds = 0;   ///< wall time in the builder
  /// Contents that specs of arguments name, which this keeps (runner/given.h); no part of what a builder sends.
  std::vector<std::shared_ptr<const std::string>> given = {};
};

/// What a builder does with a request.
using BuildFunction = std::function<BuildResult(const BuildRequest&)>;

/// Parse, replay, lower, compile. A refusal is an outcome: instantiation, compile_host or rejected. A DAG with sizes becomes one kernel
/// for all of them, or is refused.
BuildResult build_candidate(const BuildRequest&);

/// A kernel for ranges as it is called at sizes of its DAG, whose DAG there is `at` (dag_at).
BuildResult at_sizes(const BuildResult&, const ComputeDag& at, const SizeValues&);

extern template struct Codec<BuildRequest>;
extern template struct Codec<BuildResult>;

/// A builder's life: says hello, then answers requests on `fd` until its other end is closed; gives the exit status.
int run_builder(int fd, const BuildFunction&);
/// A builder that calls build_candidate.
extern const Life kBuilder;

}  // namespace whet
