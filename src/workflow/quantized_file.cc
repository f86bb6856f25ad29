#include "workflow/quantized_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "alternatives/stored_numbers.h"
#include "base/counted.h"
#include "import_onnx/export.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// Fills the parts by the kernels of a plan.
class PartsOfPlan {
 public:
  PartsOfPlan(const FusedGraph& fused, const ValueRanges& ranges) : fused_(fused), forms_(fused, ranges) {}

  void add(const Alternative& kernel) {
    if (kernel.kind != AlternativeKind::lowered || kernel.group < 0) return;
    const Group& group = fused_.groups[static_cast<std::size_t>(kernel.group)];
    for (const StoredValue& value : kernel.fragment.reads)
      if (value.form.stored == StoredAs::u8) add_reads(kernel, group, value.value);
    const auto rounded = kernel.rounds_product ? kernel.rounds_product : kernel.rounds_reads;
    file_.in_f32 += rounded && *rounded != StoredAs::u8;
    if (kernel.rounds_product == StoredAs::u8) add_product(group);
  }
  QuantizedFile finish() && { return std::move(file_); }

 private:
  /// A kernel that reads a value as bytes and as it is multiplies the bytes.
  void add_reads(const Alternative& kernel, const Group& group, ValueId value) {
    const bool also_f32 = std::ranges::count(kernel.fragment.reads, StoredValue{value, kChannelsLast}) > 0;
    const auto numbers = forms_.numbers(value, StoredAs::u8);
    if (!numbers) return;
    for (NodeId n : group.nodes) {
      const Node& node = fused_.graph.node(n);
      if (std::ranges::count(node.inputs, value) == 0) continue;
      if (also_f32 && !is_product(node.op) && !copies_numbers(node.op)) continue;
      file_.parts.reads[{n, value}] = {numbers->scale, numbers->zero};
    }
  }

  void add_product(const Group& group) {
    for (NodeId n : group.nodes) {
      const Node& node = fused_.graph.node(n);
      if (!is_product(node.op)) continue;
      const LoweredProduct* product = forms_.product(node, StoredAs::u8);
      const auto x = forms_.numbers(node.inputs[0], StoredAs::u8);
      if (product == nullptr || !product->scales || !x) continue;
      ByteWeights weights{product->weights, {}};
      for (std::int64_t c = 0; c < product->scales->size(); ++c)
        weights.scales.push_back(product->scales->get(c) /
                                 x->scale);  // of the sums, by what the activation has of them
      file_.parts.weights.emplace(n, std::move(weights));
      ++file_.in_bytes;
    }
  }

  const FusedGraph& fused_;
  const StoredForms forms_;
  QuantizedFile file_;
};

}  // namespace

QuantizedFile quantized_file(const FusedGraph& fused, const Alternatives& alternatives, const std::vector<int>& plan,
                             const ValueRanges& ranges) {
  PartsOfPlan parts(fused, ranges);
  for (int number : plan) parts.add(alternatives.all[static_cast<std::size_t>(number)]);
  return std::move(parts).finish();
}

std::string not_written(const std::string& path, const std::string& why) {
  std::error_code code;
  const bool is_there = std::filesystem::is_regular_file(path, code);
  return path + " was not written: " + why + (is_there ? "; the file that is there is of an earlier run" : "");
}

Result<std::string> write_quantized(const FusedGraph& fused, const LoweredKernels& kernels, const std::string& path) {
  if (kernels.line == nullptr) return not_written(path, "there is no plan in fewer bits");
  const QuantizedFile file = quantized_file(fused, kernels.alternatives, kernels.plan, kernels.ranges);
  if (file.in_bytes == 0)
    return not_written(path,
                       "the plan multiplies no bytes, and an ONNX file has none of its other types; "
                       "--precision int8 takes bytes wherever a layer can");
  WHET_TRY(const std::string bytes, onnx_bytes(fused.graph, file.parts));
  WHET_RETURN_IF_ERROR(write_file(path, bytes));
  std::string text =
      fmt::format("{}: an ONNX file with {} in bytes", path, counted(std::ssize(file.parts.weights), "layer"));
  if (file.in_f32 > 0)
    text += fmt::format("; {} of bf16 or i16 {} f32 there", counted(static_cast<std::int64_t>(file.in_f32), "layer"),
                        for_count(static_cast<std::int64_t>(file.in_f32), "is", "are"));
  return text;
}

}  // namespace whet
