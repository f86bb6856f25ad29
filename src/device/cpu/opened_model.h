#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device_name.h"
#include "tensor/tensor.h"
#include "whet/model.h"

namespace whet {

/// How a compiled model is to be opened. Zero and empty are the defaults.
struct OpenModelOptions {
  std::uint32_t threads = 0;         ///< 0: as many as it was tuned for, where there are as many cores
  std::vector<std::uint32_t> cores;  ///< where they stand; empty: chosen
  bool pin = true;
  bool map_weights = false;
  DeviceName device;               ///< of a model for a GPU
  std::uint32_t device_flags = 0;  ///< WHET_DEVICE_..., of a model for a GPU
  bool times_alone = false;        ///< on the emulated device no kernel runs, and time passes by the estimate
};

/// The options as they travel to another process of the same program.
std::string encode(const OpenModelOptions&);
std::optional<OpenModelOptions> decode_open_options(std::string_view);

/// A compiled model as the tools use it: its library, a pool and one session, behind Results and Tensors.
class OpenedModel {
 public:
  /// Checks the file, loads it, and makes pool and session.
  static Result<OpenedModel> open(const std::string& path, const OpenModelOptions& = {});

  struct Named {
    std::string name;
    TensorType type;
  };
  const std::vector<Named>& inputs() const { return inputs_; }
  const std::vector<Named>& outputs() const { return outputs_; }
  const whet_model_info& info() const;
  const whet_pool_info& pool() const;
  /// Null for a model that runs on the CPU.
  const whet_device_info* device() const;
  bool is_emulated() const;
  /// How its threads agree with what it was tuned for; "" where they do.
  std::string note() const;

  /// One tensor an input, in order; they are kept until set again. Errors name the input.
  Status set_inputs(std::vector<Tensor>);
  /// One inference on the inputs that are set: what a benchmark times.
  Status run();
  /// From now on the inputs that are set, and the outputs, are in the memory of the model's GPU: a run copies nothing from or to
  /// the host, and its outputs are not read. For models of a GPU alone.
  Status move_to_device();
  /// `runs` inferences, one behind the other with no wait between them, and the wait for the last.
  Status run_back_to_back(int runs);
  /// Copies of the outputs of the last run.
  std::vector<Tensor> read_outputs() const;
  /// All three.
  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs);

  /// What its runs are timed by [s]: a steady clock, of the emulated device its own.
  double clock() const;

  void set_profiling(bool on);
  /// Valid until the next call.
  whet_profile profile() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::vector<Named> inputs_, outputs_;
};

}  // namespace whet
