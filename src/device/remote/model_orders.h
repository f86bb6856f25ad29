#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/protocol/cpu/model_messages.h"
#include "device/remote/remote_session.h"

namespace whet {

/// A file that a device may need: the path of what has its bytes, a way to get them, or the bytes.
struct BlobSource {
  BlobName name;
  std::string path;
  std::string_view bytes;  ///< where there is neither a path nor a way
  /// `bytes` of the file from `offset` on; fewer where they cannot be had any more.
  std::function<std::string(std::uint64_t offset, std::size_t bytes)> read;
};
/// `bytes` of the file from `offset` on; fewer where it ends, or cannot be read.
std::string read_blob(const BlobSource&, std::uint64_t offset, std::size_t bytes);
/// Names a file by its content. An error says that it cannot be read.
Result<BlobName> name_blob(const std::string& path);

/// What became of an order, or of bringing its files.
struct OrderEnd {
  enum class Kind { done, refused, lost, interrupted } kind = Kind::done;
  std::string message;               ///< of `refused` and `lost`
  std::vector<ModelAnswer> answers;  ///< all but those without news
  std::uint64_t there = 0;           ///< bytes of the files that the device said it has
};
/// Brings the device what it lacks of these files, from where it lacks it.
OrderEnd bring_blobs(RemoteSession&, const std::vector<BlobSource>&, const std::function<bool()>& interrupted);
/// Has an order carried out, whose files are there.
OrderEnd carry_out(RemoteSession&, const ModelOrder&, const std::function<bool()>& interrupted);

}  // namespace whet
