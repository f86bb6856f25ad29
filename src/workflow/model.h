#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/import_model.h"
#include "graph/graph.h"
#include "passes/optimize.h"
#include "tensor/tensor.h"

namespace whet {

/// `MODEL` and the options that decide its shapes and contents.
struct ModelOptions {
  std::string model;  ///< a path, or "zoo:resnet-18"
  std::vector<std::string> shapes;
  std::vector<std::string> sizes;                            ///< "n=1..512", "x.0={1,2,4}": workflow/sizes.h
  std::map<std::string, std::set<std::size_t>> opened = {};  ///< fixed dimensions that `shapes` binds anew, by input
  std::vector<std::string> until;                            ///< values to give instead of the outputs
  std::vector<std::string> define;                           ///< "com.acme.Gelu3=gelu3.dag"
  std::string entry;                ///< which function or program of the file; "": the usual one
  bool native_types = false;        ///< tensors of bf16 and i16 are that, not f32 and i32
  std::vector<std::string> inputs;  ///< "x.npy", "name=x.npy", "in.npz"
  std::string fill;                 ///< for inputs that no file gives: "random", "ones", "zeros"; "": an error
  std::uint64_t seed = 0;
  int batch = 0, image = 0;  ///< of a built-in network; 0: the usual ones
  std::string layout;        ///< of its input: "nchw", "nhwc"; "": the usual one

  /// The model's own name, for headers and for files that are made of it: "resnet-18" of "zoo:resnet-18", "b" of "a/b.onnx".
  std::string name() const;
  bool is_compiled() const { return model.ends_with(".so"); }
  bool is_built_in() const { return model.starts_with("zoo:"); }
  /// The options as a command line for a command that only takes the model, without those left at their defaults.
  std::string text() const;
};

/// Tensors read from the files of `--input`.
struct InputFiles {
  std::map<std::string, Tensor> named;
  std::vector<Tensor> unnamed;  ///< in the order given
};
/// Reads them. "NAME=FILE" is taken apart where there is such a file; where there are several or none, behind the longest
/// name of an input that the model has: names and paths may hold "/", ":" and "=".
Result<InputFiles> read_inputs(const ModelOptions&);
/// The same for commands that do not run the model: only an input's name says what a tensor is for.
Result<InputFiles> read_named_inputs(const ModelOptions&);
Error unnamed_value();

/// The model as its file says, shapes bound.
Result<Graph> load_graph(const ModelOptions&, const InputFiles& = {});
/// The same after all passes, in groups.
Result<FusedGraph> load_fused(const ModelOptions&, const InputFiles& = {}, const PassOptions& = {});

/// One input of a model, whoever holds it.
struct InputSlot {
  std::string name;
  TensorType type;
  bool is_imported = false;  ///< --shape may bind other extents
};
/// A tensor for each input: named ones by name, unnamed ones in order, the others filled. Errors name the input, what
/// was found and what would be right.
Result<std::vector<Tensor>> match_inputs(const std::vector<InputSlot>&, const InputFiles&, const std::string& fill,
                                         std::uint64_t seed);
std::vector<InputSlot> input_slots(const Graph&);
/// Without the named tensors that are inputs of the file but of the graph no more: their values decided a shape, and
/// import folded them. (Names that the file does not have were refused there.)
InputFiles without_folded(const ModelOptions&, const std::vector<InputSlot>&, InputFiles);

}  // namespace whet
