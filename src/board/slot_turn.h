#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The right to time kernels on a slot of this machine, which one process has at a time: others would be timed beside it. It
/// ends with the object or the process. (A lock on a file of this user alone: no other user can hold it, and sessions of other
/// users, or in containers with files of their own, take no turns with this one's.)
class SlotTurn {
 public:
  SlotTurn() = default;
  SlotTurn(const SlotTurn&) = delete;
  ~SlotTurn() { give_back(); }

  /// False while another process has it: `holder()` is then who.
  ///   user  whom it is taken for: those who wait are told
  bool take(const std::string& slot, std::string_view user);
  void give_back();
  /// "process 1234 has had the device for 5 s, for ann"
  const std::string& holder() const { return holder_; }

 private:
  int file_ = -1;
  std::string holder_;
};

}  // namespace whet
