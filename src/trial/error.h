#pragma once

#include <string>

namespace whet {

/// How much one layer of a network, lowered alone, changes the network's answers on a user's samples. A line of a record file: errors take
/// long to measure, and the same layer on the same samples has the same.
struct LayerError {
  std::string graph;    ///< as Plan has it
  std::string weights;  ///< hash of the network's constants
  std::string samples;  ///< the samples' digest
  std::string node;     ///< whose result the layer computes
  bool product = true;  ///< of rounding the operands of its product; else of rounding what else it reads
  double error = 0;     ///< relative L2 over all samples, of the output where it is largest
  double worst = 0;     ///< the same of one sample
  std::string target, whet, at;
  std::string stored = "bf16";  ///< in which form the layer's activations were stored: "bf16", "i16" or "u8"
  std::string by = {};          ///< how it was measured (tuner/layer_errors.h); "": as older programs did
  friend bool operator==(const LayerError&, const LayerError&) = default;
};

}  // namespace whet
