#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace whet {

/// How long a pool is for a kernel with `own` bytes of constants, of a network that touches `network` bytes: a place is read again when as
/// many bytes have been read since its last time. (A pool of 1.9 times `own` has one place, which stays in the cache.)
std::size_t bytes_of_pool(std::size_t own, std::size_t network);

/// Random numbers in one long read-only stretch of huge pages, which stand for the weights of a whole network: each
/// timed run takes its constants from the next place, so that they lie where the rest of the network would have left
/// them.
class ConstantPool {
 public:
  ConstantPool() = default;
  ConstantPool(const ConstantPool&) = delete;
  ~ConstantPool() { release(); }

  /// Makes it `bytes` long: `next` walks no further, though what is there stays where it suffices. False when there is no memory. The numbers
  /// are as those of a constant of `dtype`, which is the same in all calls.
  bool reserve(std::size_t bytes, DType dtype = DType::f32);
  std::size_t bytes() const { return bytes_; }
  bool contains(std::uintptr_t address) const;

  /// Places for constants of these sizes, one after the other, 64-byte aligned.
  /// The first ones in the pool: always the same.
  std::vector<const std::byte*> at_start(const std::vector<std::size_t>& sizes) const;
  /// The last ones: behind the end of the last is a page that may not be read.
  std::vector<const std::byte*> at_end(const std::vector<std::size_t>& sizes) const;
  /// Those behind the last call's, from the start again where its length ends.
  void next(const std::vector<std::size_t>& sizes, const std::byte** places);

 private:
  void release();

  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, walked_ = 0, cursor_ = 0;
};

}  // namespace whet
