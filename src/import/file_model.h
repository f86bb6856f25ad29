#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/growing.h"
#include "import/options.h"
#include "tensor_files/npy.h"

/// A model file whatever its format: names and order. The meaning of a node stays with the reader.
namespace whet {

struct FileDimension {
  std::optional<std::int64_t> extent;                ///< of a fixed dimension
  std::string symbol;                                ///< of a symbolic one; may be empty
  std::optional<std::int64_t> usual = std::nullopt;  ///< taken where nothing binds an open one; else a leading one is 1
  std::int64_t least = 0;                            ///< an open one is no smaller, and no larger than `most`
  std::optional<std::int64_t> most = std::nullopt;
  std::int64_t step = 1;  ///< an open one is a multiple of it
};

struct FileInput {
  std::string name;
  std::optional<DType> dtype;                            ///< none: a type that whet does not have
  std::optional<std::vector<FileDimension>> dimensions;  ///< none: not even their number is known
  bool is_sequence = false;                              ///< a list of such tensors, as many as the user says
};

/// A node, as far as order, --until and messages need it.
struct FileNode {
  std::string label;  ///< begins its messages: its name, or its operator and position ("Conv_12")
  std::string op;
  std::vector<std::string> reads;   ///< its own and those of bodies in it; operands that are left out are not listed
  std::vector<std::string> writes;  ///< "" where a result is left out
};

/// A model that is read.
struct FileModel {
  std::string name;
  std::string operator_set;  ///< "operator set 13": where the meaning of its operators is written; may be empty
  std::vector<FileNode> nodes;
  std::vector<FileInput> inputs;  ///< without those that are constants
  std::vector<NamedTensor> constants;
  std::vector<std::string> outputs;
  /// Operators that node `i` uses and whet does not read: its own, or those of what it calls. None: it can be imported.
  std::function<std::vector<std::string>(std::size_t i)> missing;
  /// The same for the bodies of branches and loops; whether those are needed shows while importing.
  std::vector<std::string> missing_in_bodies;
  /// Makes node `i`'s values in the graph. All that it reads is defined there; it defines all that it writes and that is
  /// read. Called again from the first node on when import begins again with more known values.
  std::function<Status(GrowingGraph&, std::size_t i)> import;
  /// An error where the nodes need a size that no option decides. Who asks for the inputs alone may have them.
  Status undecided = ok_status();
  /// Refuses shapes of the inputs that the nodes are not right for. None: all that the dimensions allow are right.
  std::function<Status(const std::map<std::string, Shape>&)> check_shapes = {};
  /// Inputs whose values, which the user gave, decided what the nodes are: they are constants.
  std::set<std::string> folded;
};

/// A model file as a reader gets it.
struct ModelSource {
  std::string what;                        ///< begins messages: its path
  std::string directory;                   ///< files beside it; the folder where the model is one
  std::string bytes;                       ///< empty where the model is a folder
  std::string entry = {};                  ///< which of several functions or programs of the file; empty: the usual one
  const ImportOptions* options = nullptr;  ///< for files whose nodes depend on the sizes of inputs
};

/// The graph of a model, of static shapes: see `import_model`. Nodes that the outputs need are imported in order; inputs
/// whose values decide a shape are folded where the options have them; nodes that folding made superfluous are gone.
/// Errors name the node or input at fault; operators that are not read are listed all at once, with the values at which
/// the model could end before them.
Result<Graph> import_file(FileModel, const ImportOptions&);
/// The same of what a reader gave. The message is one line, and short: a damaged file's names may hold anything.
Result<Graph> import_read(Result<FileModel>, const ImportOptions&);

}  // namespace whet
