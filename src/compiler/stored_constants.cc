#include "compiler/stored_constants.h"

#include <bit>
#include <variant>

#include "base/hash.h"
#include "base/rng.h"

namespace whet {
namespace {

/// The elements by which constants of that size are told.
std::vector<std::int64_t> probes(std::int64_t elements) {
  constexpr int kProbes = 64;
  Rng rng(static_cast<std::uint64_t>(elements));
  std::vector<std::int64_t> at;
  for (int i = 0; i < kProbes && elements > 0; ++i) at.push_back(rng.below(elements));
  return at;
}

std::uint64_t hash_of(DType dtype, std::int64_t elements, const std::vector<double>& values) {
  std::uint64_t hash = hash_combine(static_cast<std::uint64_t>(dtype), static_cast<std::uint64_t>(elements));
  for (const double value : values) hash = hash_combine(hash, std::bit_cast<std::uint64_t>(value));
  return hash;
}

}  // namespace

std::uint64_t StoredConstants::fingerprint(const Tensor& constant) {
  std::vector<double> values;
  for (const std::int64_t at : probes(constant.size())) values.push_back(constant.get(at));
  return hash_of(constant.dtype(), constant.size(), values);
}

std::int64_t StoredConstants::missing_bytes(const ComputeDag& dag, const Lowered& lowered,
                                            const std::vector<Tensor>& constants) const {
  std::vector<int> number;  // of each placeholder among the constants; -1: it is none
  int count = 0;
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) number.push_back(std::get<Placeholder>(op.def).constant ? count++ : -1);
  const auto is_known = [&](const KernelArgument& argument) {
    const auto index = static_cast<std::size_t>(argument.index);
    if (argument.kind == KernelArgument::Kind::input)
      return known_.contains(fingerprint(constants.at(static_cast<std::size_t>(number.at(index)))));
    const std::int64_t elements = num_elements(argument.type.shape);
    const Result<Tensor> packed =
        evaluate_at(lowered.packing, constants, lowered.packing.outputs.at(index), probes(elements));
    if (!packed.ok()) return false;
    std::vector<double> values;
    for (std::int64_t i = 0; i < packed->size(); ++i) values.push_back(packed->get(i));
    return known_.contains(hash_of(argument.type.dtype, elements, values));
  };
  std::int64_t missing = 0;
  for (const KernelArgument& argument : lowered.arguments) {
    const bool is_read =
        argument.kind == KernelArgument::Kind::input && number.at(static_cast<std::size_t>(argument.index)) >= 0;
    if (!is_read && argument.kind != KernelArgument::Kind::packed) continue;
    if (!is_known(argument)) missing += num_elements(argument.type.shape) * size_of(argument.type.dtype);
  }
  return missing;
}

}  // namespace whet
