#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace whet {

/// The last few values by key, oldest out first. For several threads.
template <typename Value>
class Kept {
 public:
  using Pointer = std::shared_ptr<Value>;

  explicit Kept(std::size_t most) : most_(most) {}
  Pointer find(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return look_up(key);
  }
  /// The one that is there, else `made`.
  Pointer add(const std::string& key, Pointer made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Pointer found = look_up(key)) return found;
    list_.emplace_front(key, made);
    if (list_.size() > most_) list_.pop_back();
    return made;
  }

 private:
  Pointer look_up(const std::string& key) {
    const auto it = std::ranges::find(list_, key, &std::pair<std::string, Pointer>::first);
    if (it == list_.end()) return nullptr;
    list_.splice(list_.begin(), list_, it);
    return list_.front().second;
  }

  std::size_t most_;
  std::mutex mutex_;  ///< of the list
  std::list<std::pair<std::string, Pointer>> list_;
};

}  // namespace whet
