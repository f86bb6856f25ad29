#include "workflow/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/sha256.h"
#include "tensor_files/file.h"
#include "tensor_files/npy.h"
#include "tensor_files/zip.h"

namespace whet {
namespace {

namespace fs = std::filesystem;

Error too_many_bytes(const std::string& what) {
  return {fmt::format("{}: the samples have more than {} MiB together; give fewer", what, kMostSampleBytes >> 20),
          ErrorKind::limit};
}
Error too_many(const std::string& what) {
  return {fmt::format("{}: more than {} samples; give fewer", what, kMostSamples), ErrorKind::limit};
}

Error no_inputs(const std::string& what) {
  return Error{what + ": the model has no inputs, so that there are no samples of it"};
}

/// Beside what tensors hold, a file may have as many bytes of headers.
constexpr std::uint64_t kHeaders = 1 << 20;

/// Of f64, which become f32, there may be twice as many bytes.
std::uint64_t most_bytes(std::uint64_t left) { return 2 * left + kHeaders; }

/// The bytes of a file, as many as it had when they were counted.
Result<std::string> read_bytes(const std::string& path, std::uint64_t left) {
  WHET_TRY(const std::uint64_t size, file_size(path));
  if (size > most_bytes(left)) return too_many_bytes(path);
  return read_file_part(path, 0, size);
}

/// The tensors of one file, which is hostile: it unpacks to no more bytes than are left.
Result<std::vector<NamedTensor>> parse_tensors(std::string_view bytes, const std::string& path, std::uint64_t left) {
  if (!path.ends_with(".npz")) {
    WHET_TRY(Tensor tensor, parse_npy(bytes, path));
    return std::vector<NamedTensor>{{"", std::move(tensor)}};
  }
  WHET_TRY(const std::vector<ZipMember> members, parse_zip(bytes, path));
  std::uint64_t unpacked = 0;
  for (const ZipMember& member : members)  // each is checked alone first: a sum of such numbers may wrap
    if (member.size > most_bytes(left) || (unpacked += member.size) > most_bytes(left)) return too_many_bytes(path);
  return parse_npz(bytes, path);
}

/// A terminal takes control characters for commands.
bool has_control(std::string_view name) {
  return std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
}

bool is_sample_file(const fs::path& path) { return path.extension() == ".npz" || path.extension() == ".npy"; }

/// The sample files of a folder, in the order of their names.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  std::size_t entries = 0;
  for (auto entry = fs::directory_iterator(folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    if (++entries > kMostSamples) return too_many(folder);
    if (!is_sample_file(entry->path())) continue;
    files.push_back(entry->path().string());
    if (has_control(entry->path().filename().string()))
      return Error{"the folder \"" + folder + "\" has a sample whose name has control characters; rename it"};
  }
  if (code) return Error{"cannot read the folder \"" + folder + "\": " + code.message(), ErrorKind::io};
  if (files.empty())
    return Error{"the folder \"" + folder + "\" has no sample: expected files ending in .npz or .npy",
                 ErrorKind::not_found};
  std::sort(files.begin(), files.end());
  return files;
}

/// f64 as f32, and what held_as takes.
Tensor as_type(const Tensor& tensor, DType wanted) {
  if (tensor.dtype() != DType::f64 || wanted != DType::f32) return held_as(tensor, wanted);
  Tensor narrow(DType::f32, tensor.shape());
  for (std::int64_t i = 0; i < tensor.size(); ++i) narrow.set(i, tensor.get(i));
  return narrow;
}

constexpr std::int64_t kOne = -1;

/// How many samples a tensor holds in front of what an input wants; nothing where it holds something else. `kOne`: it is one, without a
/// dimension in front.
std::optional<std::int64_t> stacked(const Shape& shape, const Shape& wanted) {
  if (shape == wanted) return kOne;
  if (shape.size() == wanted.size() + 1 && std::equal(wanted.begin(), wanted.end(), shape.begin() + 1))
    return shape.front();
  const bool has_batch = !wanted.empty() && wanted.front() == 1 && shape.size() == wanted.size();
  if (has_batch && std::equal(wanted.begin() + 1, wanted.end(), shape.begin() + 1)) return shape.front();
  return std::nullopt;
}

Tensor part_of(const Tensor& tensor, std::int64_t number, const TensorType& type) {
  Tensor part(type.dtype, type.shape);
  const auto bytes = static_cast<std::size_t>(part.bytes());
  const auto* from = static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(number) * bytes;
  std::copy(from, from + bytes, static_cast<std::byte*>(part.data()));
  return part;
}

/// A file's tensors in the order of the inputs.
Result<std::vector<Tensor>> in_order(std::vector<NamedTensor> tensors, const std::string& path,
                                     const std::vector<InputSlot>& slots) {
  if (tensors.size() == 1 && slots.size() == 1 && tensors.front().name.empty())
    return std::vector<Tensor>{std::move(tensors.front().tensor)};
  std::map<std::string, Tensor> named;
  for (NamedTensor& each : tensors)
    if (!named.try_emplace(each.name, std::move(each.tensor)).second)
      return Error{fmt::format("sample {} has the tensor {} twice", path, each.name)};
  std::vector<Tensor> ordered;
  for (const InputSlot& slot : slots) {
    const auto found = named.find(slot.name);
    if (found == named.end())
      return Error{fmt::format("sample {} has no {} {}; a sample has all {}", path, slot.name, to_string(slot.type),
                               counted(std::ssize(slots), "input"))};
    ordered.push_back(std::move(found->second));
    named.erase(found);
  }
  if (!named.empty())
    return Error{fmt::format("sample {} has a tensor {}, which is no input of the model", path, named.begin()->first)};
  return ordered;
}

Status check_finite(const Tensor& tensor, const std::string& sample, const InputSlot& slot) {
  if (!is_float(tensor.dtype())) return ok_status();
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (!std::isfinite(tensor.get(i)))
      return Error{fmt::format("sample {}: element {} of input {} is {}; samples are finite numbers", sample, i,
                               slot.name, tensor.get(i))};
  return ok_status();
}

/// Grows a list of samples.
class SampleReader {
 public:
  SampleReader(std::string from, const std::vector<InputSlot>& slots) : slots_(slots) {
    samples_.from = std::move(from);
    for (const InputSlot& slot : slots)
      sample_bytes_ += static_cast<std::uint64_t>(num_elements(slot.type.shape) * size_of(slot.type.dtype));
  }

  ///   several  a file may hold more than one sample
  Status add(const std::string& path, bool several) {
    WHET_TRY(const std::string bytes, read_bytes(path, bytes_left()));
    return add(bytes, path, several);
  }

  Status add(std::string_view bytes, const std::string& path, bool several) {
    WHET_TRY(std::vector<NamedTensor> named, parse_tensors(bytes, path, bytes_left()));
    WHET_TRY(std::vector<Tensor> tensors, in_order(std::move(named), path, slots_));
    std::int64_t count = kOne;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const TensorType& wanted = slots_[i].type;
      const TensorType found = tensors[i].type();
      tensors[i] = as_type(tensors[i], wanted.dtype);
      const std::optional<std::int64_t> own = stacked(tensors[i].shape(), wanted.shape);
      if (tensors[i].dtype() != wanted.dtype || !own || (*own != kOne && !several))
        return Error{fmt::format("sample {} has {}, input {} wants {}", path, to_string(found), slots_[i].name,
                                 to_string(wanted))};
      if (i > 0 && count != *own)
        return Error{fmt::format("{}: inputs {} and {} have different numbers of samples", path, slots_[i - 1].name,
                                 slots_[i].name)};
      count = *own;
    }
    if (count == kOne) return take(path, std::move(tensors));
    for (std::int64_t number = 0; number < count; ++number) {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < slots_.size(); ++i) inputs.push_back(part_of(tensors[i], number, slots_[i].type));
      WHET_RETURN_IF_ERROR(take(fmt::format("{}[{}]", path, number), std::move(inputs)));
    }
    return ok_status();
  }

  Result<Samples> finish() && {
    if (samples_.all.empty()) return Error{samples_.from + " has no sample", ErrorKind::not_found};
    samples_.digest = digest_.digits();
    return std::move(samples_);
  }

 private:
  std::uint64_t bytes_left() const {
    return kMostSampleBytes - std::min(kMostSampleBytes, sample_bytes_ * samples_.all.size());
  }

  Status take(const std::string& name, std::vector<Tensor> inputs) {
    if (samples_.all.size() == kMostSamples) return too_many(samples_.from);
    if (sample_bytes_ * (samples_.all.size() + 1) > kMostSampleBytes) return too_many_bytes(samples_.from);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      WHET_RETURN_IF_ERROR(check_finite(inputs[i], name, slots_[i]));
      digest_.add({static_cast<const char*>(inputs[i].data()), static_cast<std::size_t>(inputs[i].bytes())});
    }
    samples_.all.push_back({name, std::move(inputs)});
    return ok_status();
  }

  const std::vector<InputSlot>& slots_;
  std::uint64_t sample_bytes_ = 0;
  Samples samples_;
  Sha256 digest_;
};

struct Contents {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  std::int64_t count = 0;
};

Contents contents_of(const Samples& samples, std::size_t input) {
  Contents range;
  for (const Sample& sample : samples.all) {
    const Tensor& tensor = sample.inputs[input];
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get(i);
      range.least = std::min(range.least, value), range.most = std::max(range.most, value);
      range.sum += value, ++range.count;
    }
  }
  return range;
}

}  // namespace

std::vector<std::vector<Tensor>> Samples::inputs() const {
  std::vector<std::vector<Tensor>> inputs;
  for (const Sample& sample : all) inputs.push_back(sample.inputs);
  return inputs;
}

Result<Samples> read_samples(const std::string& path, const std::vector<InputSlot>& slots) {
  if (slots.empty()) return no_inputs(path);
  SampleReader reading(path, slots);
  std::error_code code;
  if (fs::is_directory(path, code)) {
    WHET_TRY(const std::vector<std::string> files, files_in(path));
    for (const std::string& file : files) WHET_RETURN_IF_ERROR(reading.add(file, false));
  } else if (is_sample_file(path)) {
    WHET_RETURN_IF_ERROR(reading.add(path, true));
  } else {
    return Error{"\"" + path + "\": expected a folder of samples, or a file ending in .npz or .npy"};
  }
  return std::move(reading).finish();
}

Result<Samples> parse_samples(std::string_view bytes, const std::string& name, const std::vector<InputSlot>& slots) {
  if (slots.empty()) return no_inputs(name);
  SampleReader reading(name, slots);
  WHET_RETURN_IF_ERROR(reading.add(bytes, name, true));
  return std::move(reading).finish();
}

std::vector<std::string> sample_lines(const Samples& samples, const std::vector<InputSlot>& slots) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Contents range = contents_of(samples, i);
    const std::string input = fmt::format("input {} {}", slots[i].name, to_string(slots[i].type));
    lines.push_back(range.count == 0 ? input + ": nothing"
                                     : fmt::format("{}: {:.4g} .. {:.4g}, mean {:.4g}", input, range.least, range.most,
                                                   range.sum / static_cast<double>(range.count)));
  }
  return lines;
}

Status check_contents(const Samples& samples, const std::vector<InputSlot>& slots) {
  std::optional<Error> constant;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Contents range = contents_of(samples, i);
    if (range.count == 0 || range.least < range.most) return ok_status();
    if (!constant && is_float(slots[i].type.dtype))
      constant =
          Error{fmt::format("the samples are constant: every element of {} is {:g}", slots[i].name, range.least)};
  }
  return constant ? Status(*constant) : ok_status();
}

}  // namespace whet
