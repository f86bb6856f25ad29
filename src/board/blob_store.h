#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/protocol/cpu/model_messages.h"

namespace whet {

/// Files kept by their content in a folder of this user alone: HASH is whole, HASH.part is not yet. What was not used for longest
/// goes when room is needed. Several processes may use a folder at the same time.
class BlobStore {
 public:
  explicit BlobStore(std::string folder, std::uint64_t most_bytes = std::uint64_t{512} << 20)
      : folder_(std::move(folder)), most_(most_bytes) {}

  /// Bytes of each that are there, from its beginning; makes room for the rest. These files may be added then. An error is
  /// for people: they do not fit (`limit`), or the folder cannot be used.
  Result<std::vector<std::uint64_t>> expect(const std::vector<BlobName>&);
  /// Adds a piece of a file that is expected. Gives the bytes that are there now. When the last piece has come, the
  /// content is compared with the hash: a file that fails is dropped, and the error has kind invalid_input, as for a
  /// piece that does not fit to what is there.
  Result<std::uint64_t> add(const SessionBlob&);
  /// A descriptor to read a whole file by; -1 where it is not there. Counts as a use.
  int open(const std::string& hash) const;

 private:
  std::string path(const std::string& hash) const { return folder_ + "/" + hash; }
  std::uint64_t bytes_there(const BlobName&) const;
  void make_room(std::uint64_t bytes) const;
  Status finish(const BlobName&);
  const BlobName* expected(const std::string& hash) const;

  std::string folder_;
  std::uint64_t most_;
  std::vector<BlobName> expected_;
};

/// Where whet-device keeps what is this user's: the folder "whet/NAME" of the user's cache; without a home, one under /tmp. The blobs
/// are in "blobs".
std::string own_folder(const std::string& name);
/// Makes it where it is not there. An error: it is none, or others than this user may look into it.
Status make_own_folder(const std::string& path);

}  // namespace whet
