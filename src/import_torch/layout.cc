#include "import_torch/layout.h"

#include <set>
#include <string_view>

#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// Their results lie row by row wherever their operands do not.
constexpr std::string_view kRowByRow =
    "addmm arange baddbmm bmm embedding full linear mm layer_norm ones native_layer_norm zeros";
/// Their results lie as their operands do: they keep the elements in order, or compute each alone.
constexpr std::string_view kAsTheirOperands =
    "_softmax _to_copy _unsafe_view abs add alias batch_norm cat clamp clamp_max clamp_min clone concat "
    "constant_pad_nd "
    "conv1d conv2d convolution cos detach div dropout elu exp flatten float gelu hardtanh leaky_relu log log_softmax "
    "maximum minimum mul neg pad pow ravel relu reshape reshape_as rsqrt rsub sigmoid silu sin softmax sqrt squeeze "
    "sub "
    "tanh to type_as unflatten unsqueeze view view_as where";

/// The memory format that a node asks for its result; scripts have numbers for it.
enum class Format : std::uint8_t { unsaid, rows, kept, other };
Format format_of(const TorchNode& node) {
  for (const auto& [name, argument] : node.arguments) {
    if (name != "memory_format" || argument.is_none()) continue;
    const auto* text = std::get_if<std::string>(&argument.value);
    const auto* number = std::get_if<std::int64_t>(&argument.value);
    if ((text != nullptr && *text == "contiguous_format") || (number != nullptr && *number == 0)) return Format::rows;
    const bool kept = (text != nullptr && *text == "preserve_format") || (number != nullptr && *number == 1);
    return kept ? Format::kept : Format::other;
  }
  return Format::unsaid;
}

enum class Lies : std::uint8_t { row_by_row, as_operands, otherwise };
Lies result_of(const TorchNode& node) {
  std::string word = word_of(node.op);
  if (word.size() > 1 && word.ends_with('_')) word.pop_back();
  const Format format = format_of(node);
  if (format == Format::other) return Lies::otherwise;
  if (word == "contiguous" || (word == "clone" && format == Format::rows) || has_word(kRowByRow, word))
    return Lies::row_by_row;
  return has_word(kAsTheirOperands, word) ? Lies::as_operands : Lies::otherwise;
}

void collect_tensors(const Argument& argument, std::set<std::string>& names) {
  if (const Name* name = argument.name(); name != nullptr && !name->is_number) names.insert(name->name);
  if (const auto* list = std::get_if<Arguments>(&argument.value))
    for (const Argument& each : *list) collect_tensors(each, names);
}

}  // namespace

bool lies_row_by_row(const TorchProgram& program, const std::string& name, bool inputs_do) {
  std::set<std::string> open = {name};
  for (auto node = program.nodes.rbegin(); node != program.nodes.rend() && !open.empty(); ++node) {
    bool is_asked = false;
    for (const std::string& output : node->outputs) is_asked = open.erase(output) > 0 || is_asked;
    if (!is_asked) continue;
    const Lies lies = result_of(*node);
    if (lies == Lies::otherwise) return false;
    if (lies == Lies::row_by_row) continue;
    for (const auto& [own, argument] : node->arguments) collect_tensors(argument, open);
  }
  return inputs_do || open.empty();
}

}  // namespace whet::torch
