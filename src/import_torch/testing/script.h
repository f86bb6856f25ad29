#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/testing/imported.h"
#include "import_torch/import_torch.h"
#include "tensor/tensor.h"
#include "tensor_files/zip.h"

namespace whet::torch {

/// What a reader makes of a file's bytes, or of a file; `what` begins messages.
inline Result<Graph> imported_script(const std::string& bytes, const std::string& what,
                                     const ImportOptions& options = {}) {
  return whet::imported(read_torchscript_model, {what, "", bytes}, options);
}
inline Result<Graph> imported_script_file(const std::string& path, const ImportOptions& options = {}) {
  return whet::imported_file(read_torchscript_model, path, options);
}

/// Writes pickles of protocol 2, as TorchScript does.
class PickleWriter {
 public:
  PickleWriter& raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleWriter& integer(std::int64_t value) { return raw("J" + little(static_cast<std::uint64_t>(value), 4)); }
  PickleWriter& text(const std::string& value) { return raw("X" + little(value.size(), 4) + value); }
  PickleWriter& global(const std::string& module, const std::string& name) {
    return raw("c" + module + "\n" + name + "\n");
  }
  /// Of f32 or i64, in the storage `key`.
  PickleWriter& tensor(const Tensor& tensor, const std::string& key) {
    global("torch._utils", "_rebuild_tensor_v2").raw("((").text("storage");
    global("torch", tensor.dtype() == DType::i64 ? "LongStorage" : "FloatStorage").text(key).text("cpu");
    integer(tensor.size()).raw("tQ").integer(0).raw("(");
    for (const std::int64_t size : tensor.shape()) integer(size);
    raw("t(");
    std::int64_t stride = tensor.size();
    for (const std::int64_t size : tensor.shape()) integer(stride /= std::max<std::int64_t>(size, 1));
    return raw("t\x89").global("collections", "OrderedDict").raw(")RtR");
  }
  /// The pickle so far, with its protocol and its end.
  std::string bytes() const { return "\x80\x02" + bytes_ + "."; }

 private:
  static std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  }
  std::string bytes_;
};

inline std::string storage_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

/// Writes a TorchScript archive: the class "Net" with a method "forward", attributes and constants.
class Script {
 public:
  /// `body`: the lines of forward, without indentation of their own.
  Script(const std::string& parameters, const std::string& body) : parameters_(parameters), body_(body) {}

  Script& attribute(const std::string& name, const Tensor& tensor) {
    const std::string key = std::to_string(storages_.size());
    storages_.emplace_back("data/" + key, storage_of(tensor));
    pickle_.text(name).tensor(tensor, key);
    fields_ += "  " + name + " : Tensor\n";
    return *this;
  }
  Script& attribute(const std::string& name, std::int64_t value) {
    pickle_.text(name).integer(value);
    fields_ += "  " + name + " : int\n";
    return *this;
  }
  Script& constant(const Tensor& tensor) {
    const std::string key = std::to_string(constants_++);
    storages_.emplace_back("constants/" + key, storage_of(tensor));
    constant_pickle_.tensor(tensor, key);
    return *this;
  }
  /// More source behind the class.
  Script& behind(const std::string& source) {
    behind_ += source;
    return *this;
  }
  Script& member(const std::string& name, const std::string& content) {
    storages_.emplace_back(name, content);
    return *this;
  }

  std::string source() const {
    std::string text = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n" + fields_ +
                       "  def forward(self: __torch__.Net,\n    " + parameters_ + ") -> Tensor:\n";
    for (std::size_t at = 0; at < body_.size();) {
      const std::size_t end = std::min(body_.find('\n', at), body_.size());
      text += "    " + body_.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return text + behind_;
  }
  std::string modules() const {
    return PickleWriter().global("__torch__", "Net").raw(")\x81}(" + inner(pickle_) + "ub").bytes();
  }
  std::string bytes() const {
    ZipWriter zip;
    const auto add = [&](const std::string& name, const std::string& content) {
      (void)zip.add("net/" + name, content);
    };
    add("data.pkl", modules());
    add("code/__torch__.py", source());
    add("constants.pkl", PickleWriter().raw("(" + inner(constant_pickle_) + "t").bytes());
    for (const auto& [name, content] : storages_) add(name, content);
    return std::move(zip).finish().value();
  }

 private:
  static std::string inner(const PickleWriter& pickle) {
    const std::string whole = pickle.bytes();
    return whole.substr(2, whole.size() - 3);
  }

  std::string parameters_, body_, fields_, behind_;
  PickleWriter pickle_, constant_pickle_;
  int constants_ = 0;
  std::vector<std::pair<std::string, std::string>> storages_;
};

}  // namespace whet::torch
