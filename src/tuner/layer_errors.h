#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "alternatives/probe.h"
#include "records/record_file.h"
#include "tensor/tensor.h"

namespace whet {

/// The answers of a network that is open, to the inputs of one inference.
using RunNetwork = std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>& inputs)>;
/// Makes a network ready to run: it compiles and opens it, or, in tests, interprets it. It is closed with the last copy of the result.
using OpenNetwork = std::function<Result<RunNetwork>(const FusedGraph&)>;

/// What is asked of a network's answers: one list of tensors a sample.
using SampleInputs = std::vector<std::vector<Tensor>>;
/// The answers of a network that is open to all samples. Errors: an error of the network; the interrupt.
Result<SampleInputs> answers_to(const RunNetwork&, const SampleInputs&, const std::function<bool()>& interrupted = {});

/// How errors are measured now: what was measured otherwise is measured again.
constexpr const char* kErrorsBy = "eight samples";

struct LayerErrorOptions {
  std::string graph, weights, samples,
      target;          ///< as LayerError has them: errors of the same are taken from the records
  std::string ranges;  ///< hash of the ranges that scales of whole numbers follow from: errors of others are not taken
  double deadline =
      std::numeric_limits<double>::infinity();  ///< second of the clock by which it ends, whatever was measured
  std::function<double()> clock;                ///< empty: the machine's
  std::function<bool()> interrupted;            ///< may be empty
  std::function<void(std::size_t done, std::size_t all)> on_layer;
};

/// Relative L2 of a network's answers with one layer rounded, over all samples and of the worst of them, of the output where it is largest.
struct AnswerError {
  double error = 0, worst = 0;
};
AnswerError error_between(const SampleInputs& got, const SampleInputs& want);

struct LayerErrors {
  std::vector<std::optional<LayerError>> of;  ///< one a layer of the probe; nothing: no time was left
  std::size_t measured = 0, known = 0;        ///< just now, and in the records before
  double seconds = 0;
  bool interrupted = false;
};

/// Runs the probe on the samples with each layer alone, and appends what that does to the record file at once: who ends it early begins
/// there again. Layers are looked at in the order of `order` (numbers of the probe's), those that are not in it never.
Result<LayerErrors> measure_layer_errors(const ProbeNetwork&, const std::vector<std::size_t>& order,
                                         const SampleInputs& samples, const OpenNetwork&, RecordFile&,
                                         const LayerErrorOptions&);

}  // namespace whet
