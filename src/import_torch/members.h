#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "tensor_files/zip.h"

namespace whet::torch {

/// The members of an archive by their names behind the folder that all of them are in. Archives of torch before 2.8 have no
/// such folder for programs of torch.export. The bytes that are parsed outlive it. `what` begins messages.
class Members {
 public:
  explicit Members(std::string what, bool native_types = false) : what_(std::move(what)), native_types_(native_types) {}

  Status parse(std::string_view bytes);
  bool has(const std::string& name) const { return members_.contains(name); }
  const std::vector<std::string>& names() const { return names_; }
  const std::string& what() const { return what_; }
  /// Tensors of bfloat16 and int16 are read as such: dtype_of.
  bool native_types() const { return native_types_; }

  /// The content. All that is read together is limited to 16 GiB, what is compressed to 1 GiB.
  Result<std::string> read(const std::string& name) const;
  /// The same of a text, of `limit` bytes at most.
  Result<std::string> read_text(const std::string& name, std::uint64_t limit = std::uint64_t{1} << 30) const;
  Result<Json> read_json(const std::string& name) const;
  /// Counts the bytes of a tensor that was made of members: views share a storage, and may repeat its elements. Errors: all
  /// together are more than 8 times the archive's bytes and 256 MiB.
  Status count_made(std::int64_t bytes) const;

 private:
  std::string what_;
  bool native_types_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, ZipMember> members_;
  std::uint64_t size_ = 0;
  mutable std::uint64_t unpacked_ = 0, inflated_ = 0, made_ = 0;
};

}  // namespace whet::torch
