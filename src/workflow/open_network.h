#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/scratch.h"
#include "device/remote/model_host.h"
#include "passes/fuse.h"
#include "records/record_file.h"
#include "target/target.h"
#include "tuner/layer_errors.h"
#include "tuner/network.h"

namespace whet {

/// Compiles networks by the best records of a file and opens them where they are timed, so that they answer samples. One thread; the file
/// outlives it.
class NetworkOpener {
 public:
  ///   host  the device elsewhere that runs them; null: this machine
  static Result<NetworkOpener> make(NetworkOptions, Target, const RecordFile&, std::shared_ptr<ModelHost> host);
  /// Errors: a network that cannot be compiled, or not opened there. On a device elsewhere each inference sends one sample and brings its
  /// answers: the device's memory has to hold no more.
  Result<RunNetwork> open(const FusedGraph&);

 private:
  NetworkOpener(NetworkOptions network, Target target, const RecordFile& file, std::shared_ptr<ModelHost> host,
                ScratchDirectory scratch)
      : network_(std::move(network)),
        target_(std::move(target)),
        file_(&file),
        host_(std::move(host)),
        scratch_(std::move(scratch)) {}

  NetworkOptions network_;
  Target target_;
  const RecordFile* file_;
  std::shared_ptr<ModelHost> host_;
  ScratchDirectory scratch_;
  int opened_ = 0;
};

/// A network with its last `count` inputs, a truth value each, as one input: a device elsewhere opens models of few inputs, and a probe has
/// such an input a layer. Kernels stay what they are; one more for each value takes it from the whole.
Result<FusedGraph> with_joined_switches(const FusedGraph&, std::size_t count);
/// The inputs of that network, given those of the other.
std::vector<Tensor> joined_switches(const std::vector<Tensor>& inputs, std::size_t count);

}  // namespace whet
