#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"
#include "workflow/model.h"

namespace whet {

/// Inputs of one inference, as a user has them.
struct Sample {
  std::string name;            ///< the file, or "FILE[3]"
  std::vector<Tensor> inputs;  ///< one an input of the model, of its types
};

/// What a model is asked for in earnest: the data on which its answers are compared.
struct Samples {
  std::string from;  ///< the folder or file
  std::vector<Sample> all;
  std::string digest;  ///< SHA-256 of all inputs, in order: other samples have another one

  /// The inputs alone.
  std::vector<std::vector<Tensor>> inputs() const;
};

/// The bytes that all samples together may have.
constexpr std::uint64_t kMostSampleBytes = std::uint64_t{1} << 30;
/// Entries of a folder, and samples.
constexpr std::size_t kMostSamples = 10'000;

/// Reads a folder or a file of samples:
///   FOLDER    each .npz and .npy file in it is a sample, in the order of their names; other files and folders are passed over
///   x.npz     one sample, whose members have the names of the inputs; or several, where every member has one dimension more than its
///             input, in front, or in place of a first dimension of 1
///   x.npy     the same of a model with one input
/// Types are those of the inputs, or f64 for f32, and what held_as takes.
/// Errors name the file, and the input with its type and what was found: no samples; another shape; a name that is no input, or is there
/// twice; a NaN or an infinity; more than `kMostSampleBytes` or `kMostSamples`; what read_file refuses (pipes, devices); damaged files, and
/// archives whose members unpack to more than samples may have; names of files or members with control characters.
Result<Samples> read_samples(const std::string& path, const std::vector<InputSlot>& slots);
/// The same of the bytes of one file of this name.
Result<Samples> parse_samples(std::string_view bytes, const std::string& name, const std::vector<InputSlot>& slots);

/// What the samples have beside what the model declares, a line an input: "input x f32[1x3x320x320]: -2.12 .. 2.64, mean -0.31"
std::vector<std::string> sample_lines(const Samples&, const std::vector<InputSlot>& slots);
/// An error where every input of floats has one value alone in all samples: answers on such say nothing.
Status check_contents(const Samples&, const std::vector<InputSlot>& slots);

}  // namespace whet
