// The definition of an operator at a node of a model: it is refused by a sentence, or passes all the way to tasks.

#include "import/define.h"
#include "import/file_model.h"
#include "imported.h"

using namespace whet;

namespace {

/// A model of one node with two operands, or one where the text has one placeholder.
FileModel one_node(bool has_one_operand) {
  FileModel file;
  file.inputs = {{"a", DType::f32, std::vector<FileDimension>{{2, ""}, {3, ""}}},
                 {"b", DType::f32, std::vector<FileDimension>{{3, ""}}}};
  file.outputs = {"y"};
  file.nodes = {{"n", "Own", {"a", "b"}, {"y"}}};
  file.missing = [](std::size_t) { return std::vector<std::string>{"Own"}; };
  file.import = [has_one_operand](GrowingGraph& graph, std::size_t) {
    NodeSite site(graph, "n", {"y"});
    std::vector<ValueId> operands = {graph.find("a")};
    if (!has_one_operand) operands.push_back(graph.find("b"));
    return give_defined(site, *graph.definition_of("Own"), "Own", operands, {{"alpha", {"0.5"}}, {"k", {"1", "2"}}});
  };
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const std::size_t first = text.find("PLACEHOLDER");
  const bool has_one = first == std::string::npos || text.find("PLACEHOLDER", first + 1) == std::string::npos;
  ImportOptions options;
  options.definitions["Own"] = {"fuzzed", text};
  fuzz::follow(import_read(one_node(has_one), options));
  return 0;
}
