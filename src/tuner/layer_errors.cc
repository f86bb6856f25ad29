#include "tuner/layer_errors.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/version.h"
#include "records/record_line.h"
#include "tensor/compare.h"

namespace whet {
namespace {

double now_of(const LayerErrorOptions& options) { return options.clock ? options.clock() : seconds_now(); }
bool is_over(const LayerErrorOptions& options) { return options.interrupted && options.interrupted(); }

std::string stored_text(const ProbedLayer& layer) { return to_text(ActivationLayout{0, 0, layer.stored}); }

/// bf16 has no scales: what its layers err by does not depend on ranges.
std::string measured_by(const LayerErrorOptions& options, const ProbedLayer& layer) {
  const bool has_scales = layer.stored != StoredAs::bf16 && !options.ranges.empty();
  return has_scales ? kErrorsBy + (", ranges " + options.ranges) : kErrorsBy;
}

/// What the records know of a layer.
const LayerError* known_error(const Records& records, const LayerErrorOptions& options, const ProbedLayer& layer) {
  for (const LayerError& each : records.errors() | std::views::reverse)  // the last line counts
    if (each.node == layer.node && each.product == layer.product && each.stored == stored_text(layer) &&
        each.by == measured_by(options, layer) && each.graph == options.graph && each.weights == options.weights &&
        each.samples == options.samples && each.target == options.target)
      return &each;
  return nullptr;
}

/// The sums of an output over samples.
struct Squares {
  double errors = 0, wanted = 0;
  double relative() const {
    if (errors == 0) return 0;
    return wanted > 0 ? std::sqrt(errors / wanted) : kInfinity;
  }
};

Squares squares_of(const Tensor& got, const Tensor& want) {
  Squares squares;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double error = error_of(got.get(i), want.get(i)), w = want.get(i);
    squares.errors += error * error;
    if (std::isfinite(w)) squares.wanted += w * w;
  }
  return squares;
}

}  // namespace

Result<SampleInputs> answers_to(const RunNetwork& run, const SampleInputs& samples,
                                const std::function<bool()>& interrupted) {
  SampleInputs answers;
  for (const std::vector<Tensor>& sample : samples) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    WHET_TRY(std::vector<Tensor> answer, run(sample));
    answers.push_back(std::move(answer));
  }
  return answers;
}

AnswerError error_between(const SampleInputs& got, const SampleInputs& want) {
  AnswerError found;
  if (want.empty()) return found;
  for (std::size_t output = 0; output < want.front().size(); ++output) {
    Squares all;
    for (std::size_t sample = 0; sample < want.size(); ++sample) {
      const Squares own = squares_of(got[sample][output], want[sample][output]);
      if (own.wanted > 0 || !std::isfinite(own.errors)) found.worst = std::max(found.worst, own.relative());
      all.errors += own.errors, all.wanted += own.wanted;
    }
    if (all.wanted > 0 || !std::isfinite(all.errors)) found.error = std::max(found.error, all.relative());
  }
  return found;
}

Result<LayerErrors> measure_layer_errors(const ProbeNetwork& probe, const std::vector<std::size_t>& order,
                                         const SampleInputs& samples, const OpenNetwork& open, RecordFile& file,
                                         const LayerErrorOptions& options) {
  const double begin = now_of(options);
  LayerErrors errors;
  errors.of.resize(probe.layers.size());
  std::vector<std::size_t> left;
  for (std::size_t layer : order) {
    const LayerError* known = known_error(file.records(), options, probe.layers[layer]);
    if (known == nullptr) {
      left.push_back(layer);
      continue;
    }
    errors.of[layer] = *known, ++errors.known;
  }
  const auto finished = [&] { return errors.seconds = now_of(options) - begin, std::move(errors); };
  if (left.empty()) return finished();
  WHET_TRY(const FusedGraph fused, fuse(probe.graph));
  WHET_TRY(const RunNetwork run, open(fused));
  const auto answers = [&](int on) -> Result<SampleInputs> {
    SampleInputs inputs;
    for (const std::vector<Tensor>& sample : samples) inputs.push_back(probe_inputs(sample, probe.layers.size(), on));
    return answers_to(run, inputs, options.interrupted);
  };
  const auto is_interrupt = [&](const auto& result) {
    return !result.ok() && result.error().kind == ErrorKind::interrupted && is_over(options);
  };
  Result<SampleInputs> want = answers(-1);
  errors.interrupted = is_interrupt(want);
  if (errors.interrupted) return finished();
  if (!want.ok()) return want.error();
  for (std::size_t layer : left) {
    if (now_of(options) >= options.deadline) break;
    const Result<SampleInputs> got = answers(static_cast<int>(layer));
    errors.interrupted = is_interrupt(got);
    if (errors.interrupted) break;
    if (!got.ok()) return got.error();
    const AnswerError found = error_between(*got, *want);
    LayerError error{options.graph,
                     options.weights,
                     options.samples,
                     probe.layers[layer].node,
                     probe.layers[layer].product,
                     found.error,
                     found.worst,
                     options.target,
                     version(),
                     utc_now(),
                     stored_text(probe.layers[layer]),
                     measured_by(options, probe.layers[layer])};
    // Answers that are not finite any more are no error that a file keeps: such a layer stays as it is.
    if (std::isfinite(found.error) && std::isfinite(found.worst)) WHET_RETURN_IF_ERROR(file.append_error(error));
    errors.of[layer] = std::move(error), ++errors.measured;
    if (options.on_layer) options.on_layer(errors.measured, left.size());
  }
  return finished();
}

}  // namespace whet
