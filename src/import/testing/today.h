#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "import/testing/imported.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

/// Files of other frameworks with their answers: inputs in0, in1, ... in the order of the model's, and outputs out0, out1, ...
namespace whet::today {

using NamedTensors = std::map<std::string, Tensor>;

/// The folder of such files; null where the environment names none.
inline const char* frontends_folder() { return std::getenv("WHET_FRONTENDS"); }

/// The first entries of x, which are as many as `shape` says.
inline Tensor first_of(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape || x.shape().size() != shape.size()) return x;
  Tensor part(x.dtype(), shape);
  const Shape steps = row_major_strides(x.shape());
  for (std::int64_t i = 0; i < part.size(); ++i) {
    std::int64_t place = 0, rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place += rest % shape[d] * steps[d];
    if (place >= x.size()) return x;
    part.set(i, x.get(place));
  }
  return part;
}

/// An array, which numpy may write with its last index slowest.
inline Tensor array_of(const std::filesystem::path& path) {
  std::string bytes = read_file(path).value();
  const std::string turned = "'fortran_order': True, ";
  const std::size_t at = bytes.find(turned);
  if (at == std::string::npos) return npy(path);
  bytes.replace(at, turned.size(), "'fortran_order': False,");
  const Tensor columns = parse_npy(bytes, path).value();
  Tensor x(columns.dtype(), columns.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t place = 0, step = x.size(), rest = i;
    for (std::size_t d = x.shape().size(); d-- > 0; rest /= x.shape()[d]) {
      step /= x.shape()[d];
      place += rest % x.shape()[d] * step;
    }
    x.set(i, columns.get(place));
  }
  return x;
}

/// The arrays of a folder by their names, and its file that ends so; an empty path where there is none.
inline std::filesystem::path read_case(const std::filesystem::path& folder, const std::string& ending,
                                       NamedTensors& tensors) {
  std::filesystem::path model;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".npy") tensors[entry.path().stem()] = array_of(entry.path());
    if (entry.path().extension() == ending) model = entry.path();
  }
  return model;
}

/// What is wrong with a file's outputs, or with the file; "" where nothing is.
inline std::string fault_of(ModelReader read, const std::filesystem::path& file, NamedTensors tensors,
                            double tolerance) {
  const auto plain = imported_file(read, file, {});
  ImportOptions options;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; tensors.contains("in" + std::to_string(i)); ++i)
    inputs.push_back(tensors["in" + std::to_string(i)]);
  if (!plain.ok()) return plain.error().message;
  for (std::size_t i = 0; i < plain->inputs.size(); ++i) {
    const Value& input = plain->value(plain->inputs[i]);
    if (i < inputs.size() && input.type.shape != inputs[i].shape()) options.shapes[input.name] = inputs[i].shape();
  }
  const auto graph = imported_file(read, file, options);
  if (!graph.ok()) return graph.error().message;
  inputs.resize(graph->inputs.size());
  const auto values = evaluate_graph(*graph, inputs);
  if (!values.ok()) return values.error().message;
  for (std::size_t i = 0; tensors.contains("out" + std::to_string(i)); ++i) {
    const std::string name = "output " + std::to_string(i);
    if (i >= graph->outputs.size()) break;  // left behind by another model
    const Tensor& want = tensors["out" + std::to_string(i)];
    const Tensor got = first_of((*values)[graph->outputs[i].index()], want.shape());
    if (got.shape() != want.shape() || got.dtype() != want.dtype())
      return name + " is " + to_string(TensorType{got.dtype(), got.shape()});
    const double error = compare(got, want).relative;
    if (!(error <= tolerance)) return name + " is off by " + std::to_string(error);
  }
  return "";
}

}  // namespace whet::today
