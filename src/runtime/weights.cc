#include "runtime/weights.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "runtime/process.h"

namespace whet {
namespace {

/// Copied and dropped in pieces, so that the weights are never in memory twice.
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

struct Copy {
  const void* of;
  Pages pages;
  std::uint32_t users;
  Copy* next;
};

Copy* copies = nullptr;
ForkLock lock_of_copies;

bool copy_weights(const ModelImage& image, Pages* pages) {
  *pages = allocate_pages(image.weights_bytes);
  if (!pages->ok()) return false;
  const char* from = static_cast<const char*>(image.weights);
  char* to = static_cast<char*>(pages->data);
  for (std::uint64_t at = 0; at < image.weights_bytes; at += kPiece) {
    const std::uint64_t bytes = image.weights_bytes - at < kPiece ? image.weights_bytes - at : kPiece;
    memcpy(to + at, from + at, bytes);
    if (image.file_backed) drop_pages(from + at, from + at + bytes);
  }
  return true;
}

Copy* make_copy(const ModelImage& image) {
  Copy* copy = static_cast<Copy*>(malloc(sizeof(Copy)));
  if (copy == nullptr) return nullptr;
  *copy = {image.weights, {}, 0, copies};
  if (copy_weights(image, &copy->pages)) {
    std::atomic_signal_fence(std::memory_order_release);  // whole before it is in the list
    return copies = copy;
  }
  free(copy);
  return nullptr;
}

Copy* find_copy(const ModelImage& image) {
  for (Copy* copy = copies; copy != nullptr; copy = copy->next) {
    if (copy->of == image.weights && copy->pages.bytes == image.weights_bytes) return copy;
  }
  return nullptr;
}

}  // namespace

const char* take_weights_copy(const ModelImage& image) {
  const Locked locked(lock_of_copies);
  Copy* copy = find_copy(image);
  if (copy == nullptr) copy = make_copy(image);
  if (copy != nullptr) ++copy->users;
  return copy == nullptr ? nullptr : static_cast<const char*>(copy->pages.data);
}

void return_weights_copy(const char* weights) {
  const Locked locked(lock_of_copies);
  Copy** link = &copies;
  while ((*link)->pages.data != weights) link = &(*link)->next;
  if (Copy* copy = *link; --copy->users == 0) {
    *link = copy->next;
    free_pages(&copy->pages);
    free(copy);
  }
}

}  // namespace whet
