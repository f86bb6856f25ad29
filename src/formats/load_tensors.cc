#include "formats/load_tensors.h"

#include "import_onnx/reader.h"
#include "tensor_files/file.h"

namespace whet {

Result<std::vector<NamedTensor>> load_tensors(const std::string& path) {
  WHET_TRY(const std::string bytes, read_file(path));
  if (path.ends_with(".npz")) return parse_npz(bytes, path);
  if (path.ends_with(".pb")) {
    WHET_TRY(NamedTensor named, parse_tensor_proto(bytes, path, true));
    return std::vector<NamedTensor>{std::move(named)};
  }
  if (!path.ends_with(".npy")) return Error{"\"" + path + "\": expected a file ending in .npy, .npz or .pb"};
  WHET_TRY(Tensor tensor, parse_npy(bytes, path));
  return std::vector<NamedTensor>{{"", std::move(tensor)}};
}

Result<Tensor> load_tensor(const std::string& path) {
  WHET_TRY(std::vector<NamedTensor> tensors, load_tensors(path));
  if (tensors.size() == 1) return std::move(tensors.front().tensor);
  return Error{"\"" + path + "\" holds " + std::to_string(tensors.size()) + " tensors; expected one"};
}

}  // namespace whet
