// A user's samples (docs/precision.md), as .npz and as .npy: finite tensors of the model's inputs, or a sentence.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fuzz.h"
#include "tensor_files/npy.h"
#include "workflow/samples.h"

using namespace whet;

namespace {

void check_sample(const Sample& sample, const std::vector<InputSlot>& slots) {
  fuzz::require(sample.inputs.size() == slots.size(), "a sample has every input");
  std::vector<NamedTensor> again;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Tensor& tensor = sample.inputs[i];
    fuzz::require(tensor.type() == slots[i].type, "a sample has the types of the inputs");
    for (std::int64_t e = 0; e < tensor.size(); ++e)
      fuzz::require(std::isfinite(tensor.get(e)), "a sample has finite numbers");
    again.push_back({slots[i].name, tensor});
  }
  const Result<std::string> bytes = format_npz(again);
  fuzz::require(bytes.ok(), "a sample is written");
  const Result<Samples> read = parse_samples(*bytes, "again.npz", slots);
  fuzz::require(read.ok() && read->all.size() == 1, "what was read is written and read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<InputSlot> one = {{"x", {DType::f32, {1, 3}}}};
  const std::vector<InputSlot> two = {{"x", {DType::f32, {1, 3}}}, {"n", {DType::i64, {}}}};
  for (const std::vector<InputSlot>& slots : {one, two})
    for (const char* name : {"s.npz", "s.npy"}) {
      const Result<Samples> samples = parse_samples(fuzz::text_of(data, size), name, slots);
      if (!samples.ok()) {
        fuzz::require_sentence(samples.error().message);
        continue;
      }
      fuzz::require(!samples->all.empty() && samples->all.size() <= kMostSamples, "there are samples");
      for (const Sample& sample : samples->all) check_sample(sample, slots);
      fuzz::require(sample_lines(*samples, slots).size() == slots.size(), "each input has a line");
      if (const Status contents = check_contents(*samples, slots); !contents.ok())
        fuzz::require_sentence(contents.error().message);
    }
  return 0;
}
