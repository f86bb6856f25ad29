// Whatever a frozen graph, a SavedModel, a model.json or the index of a checkpoint holds, import gives a graph or a sentence. The
// first byte says which of them follows.

#include <cstddef>
#include <cstdint>
#include <string>

#include "import/file_model.h"
#include "import_tf/import_tensorflow.h"
#include "import_tf/table.h"
#include "imported.h"

namespace {

using namespace whet;

Result<Graph> imported(Result<FileModel> (*read)(ModelSource&&), std::string bytes) {
  WHET_TRY(FileModel model, read({"fuzzed", "/nowhere", std::move(bytes), ""}));
  return import_file(std::move(model), {});
}

/// The sentence of a reader may quote the file; `import_model` makes it one line.
void follow_quoted(Result<Graph> graph) {
  if (graph.ok()) return fuzz::follow(graph);
  fuzz::require(!graph.error().message.empty(), "an error says something");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      follow_quoted(imported(read_graph_def_model, std::move(bytes)));
      break;
    case 1:
      follow_quoted(imported(read_saved_model, std::move(bytes)));
      break;
    case 2:
      follow_quoted(imported(read_tfjs_model, std::move(bytes)));
      break;
    default:
      (void)tensorflow::parse_table(bytes + "\x57\xfb\x80\x8b\x24\x75\x47\xdb", "fuzzed");
  }
  return 0;
}
