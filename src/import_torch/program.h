#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "import/file_model.h"
#include "import_torch/guards.h"
#include "tensor_files/npy.h"

/// A program of PyTorch's operators, whichever file it came from. Free of the file's format.
namespace whet::torch {

/// A value of the program: a tensor, or a number that is computed from sizes.
struct Name {
  std::string name;
  bool is_number = false;
};

/// torch's number of a type of elements. Types that whet does not have keep their number.
struct ScalarType {
  std::int64_t number = 0;
};
/// float8 is computed as f32, uint16 as i32, and so are bfloat16 and int16, unless these are taken as they are: `native_types`.
/// None: whet does not have it.
std::optional<DType> dtype_of(ScalarType, bool native_types);
/// The type that TorchScript counts as `number`: one less than here, but of bfloat16.
ScalarType script_type(std::int64_t number);
/// The type of the parts of complex numbers; none: they are not complex.
std::optional<DType> type_of_parts(ScalarType);
std::string name_of(ScalarType);

struct TorchProgram;
struct Argument;
using Arguments = std::vector<Argument>;

/// What a node is given. Index 0: none.
struct Argument {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Name, ScalarType, Arguments,
               std::shared_ptr<const TorchProgram>>
      value;

  bool is_none() const { return value.index() == 0; }
  const Name* name() const { return std::get_if<Name>(&value); }
};

struct TorchNode {
  std::string op;     ///< without "torch.ops.": "aten.conv2d.default", "_operator.mul"
  std::string label;  ///< begins messages: "features.0/conv2d"
  std::vector<std::pair<std::string, Argument>> arguments;  ///< in order; names may be empty: then by place
  std::vector<std::string> outputs;                         ///< "" where a result is left out
  std::string line{};  ///< of the model's source: "line 12 of model.py"; may be empty
};

/// The type that the file gives a value; sizes that are open are none.
struct SaidType {
  ScalarType type;
  std::vector<FileDimension> sizes;
  bool row_by_row = false;  ///< the file says that it lies so, from the beginning of its memory on
};

/// Nodes in order, over inputs and outputs by their names; the bodies of branches are such programs too.
struct TorchProgram {
  std::vector<Name> inputs;
  std::vector<TorchNode> nodes;
  std::vector<Name> outputs;
  std::map<std::string, SaidType> types;
  bool has_levels = false;  ///< of vmap: values have more dimensions than the types say
};

/// A program and what is around it.
struct TorchModel {
  std::string name;
  TorchProgram program;
  std::vector<FileInput> inputs;                   ///< that a user gives, called as the program's inputs are
  std::map<std::string, std::string> input_names;  ///< of the program's inputs for users, where they differ
  std::vector<std::string> output_names;           ///< for users; one for each output of the program
  std::vector<NamedTensor> constants;              ///< parameters and buffers, called as the program's inputs are
  std::vector<Guard> guards;                       ///< on the sizes of inputs, by their names for users
  std::map<std::string, std::string> buffers;      ///< inputs of the program that are state: their names in the module
  std::map<std::string, std::string> new_states;   ///< what buffers become, by their names in the module; "": unclear
};

/// An input that is given tensors like this one.
FileInput input_like(const std::string& name, const Tensor&);

/// "aten.slice.Tensor": slice
std::string word_of(const std::string& op);

/// The names that an argument reads, those in lists too.
void collect_names(const Argument&, std::vector<std::string>& names);
/// Gives what nodes and outputs read other names.
void rename_reads(TorchProgram&, const std::map<std::string, std::string>& names);

/// The error with the node's line behind it, unless it has that of a node in one of its bodies.
Error at_line(const TorchNode&, Error);

}  // namespace whet::torch
