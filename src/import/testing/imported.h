#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "import/file_model.h"
#include "tensor_files/file.h"

/// A model by the reader of one format, for the tests of that format.
namespace whet {

using ModelReader = Result<FileModel> (*)(ModelSource&&);

/// The graph of a file's bytes; `what` begins messages.
inline Result<Graph> imported(ModelReader read, ModelSource source, const ImportOptions& options) {
  source.entry = options.entry;
  source.options = &options;
  return import_read(read(std::move(source)), options);
}
/// The graph of a file, or of a folder.
inline Result<Graph> imported_file(ModelReader read, const std::filesystem::path& path, const ImportOptions& options) {
  if (std::filesystem::is_directory(path)) return imported(read, {path, path, ""}, options);
  WHET_TRY(std::string bytes, read_file(path));
  return imported(read, {path, path.parent_path(), std::move(bytes)}, options);
}
/// The tensor of a file .npy.
inline Tensor npy(const std::string& path) { return parse_npy(read_file(path).value(), path).value(); }

}  // namespace whet
