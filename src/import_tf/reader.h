#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import_tf/graph.h"

/// TensorFlow's messages (tf.proto), read.
namespace whet::tensorflow {

Result<TfGraph> parse_graph_def(std::string_view bytes, const std::string& what);
/// The graph that serves, with its signatures.
Result<TfGraph> parse_saved_model(std::string_view bytes, const std::string& what);
/// A GraphDef, and a signature, as JSON.
Result<TfGraph> parse_graph_json(const std::string& text, const std::string& what);
Result<TfSignature> parse_signature_json(const std::string& text, const std::string& what);

/// The place of a variable in a checkpoint.
struct BundleEntry {
  TfType type;
  TfShape shape;
  std::int64_t shard = 0, offset = 0, size = 0;
};
Result<BundleEntry> parse_bundle_entry(std::string_view bytes, const std::string& what);
/// The number of the files of data of a checkpoint, whose numbers are little-endian.
Result<std::int64_t> parse_bundle_header(std::string_view bytes, const std::string& what);
/// Names of variables, and the keys that a checkpoint has them by.
Result<std::vector<std::pair<std::string, std::string>>> parse_object_graph(std::string_view bytes,
                                                                            const std::string& what);

/// A tensor of a type that whet has, from its bytes.
Result<Tensor> tensor_of_bytes(TfType, const Shape&, std::string_view bytes, const std::string& what);

}  // namespace whet::tensorflow
