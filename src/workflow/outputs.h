#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace whet {

/// What commands write.
enum class FileKind : std::uint8_t {
  model,    ///< a compiled model, a static archive of one
  records,  ///< measurements, which are appended or written anew
  page,     ///< a report
  events,
  trace,
  tensors,  ///< .npy or .npz
  onnx,     ///< a network of the zoo
  ptx,
  code,     ///< a listing of kernels
  header,   ///< of C, for an archive
  weights,  ///< of a compiled model, in a file of their own
};

/// A file that a command will write.
struct OutputFile {
  std::string option;  ///< "--output"
  std::string path;    ///< "": none. Of events it may be the number of an open descriptor
  FileKind kind;
};

/// Before any work: what the user has is not lost. Files are told by device and inode, and the kinds by their content: what is there
/// may be replaced where whet wrote such a file. Errors name the option and the path, where
///   - the file cannot be written, or is a folder;
///   - it is one of `inputs`, which may name what is no file, or another output;
///   - it is there and of another kind. (Whether there are records in a file tells who opens it.)
Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

}  // namespace whet
