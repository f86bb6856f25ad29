#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace whet {

/// A hash table in one piece of memory, for maps that are filled, asked and dropped as a whole: nothing is erased.
/// `Value` is an Id; an invalid one marks an empty place.
template <typename Key, typename Value, typename Hash>
class FlatMap {
 public:
  /// The value of `key`, or an invalid one.
  Value find(const Key& key) const { return entries_.empty() ? Value() : entries_[place(key)].second; }

  /// `key` must not be there yet; `value` must be valid.
  void insert(const Key& key, Value value) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    entries_[place(key)] = {key, value};
    ++size_;
  }

 private:
  using Entry = std::pair<Key, Value>;

  /// The place of `key`, or the empty place for it.
  std::size_t place(const Key& key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = Hash()(key) & mask;
    while (entries_[i].second.valid() && !(entries_[i].first == key)) i = (i + 1) & mask;
    return i;
  }

  void grow() {
    std::vector<Entry> old(entries_.empty() ? 1024 : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.second.valid()) entries_[place(entry.first)] = entry;
  }

  std::vector<Entry> entries_;  ///< a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace whet
