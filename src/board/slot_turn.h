#pragma once

#include <string>

namespace whet {

/// The right to time kernels on a slot of this machine, which one process has at a time: others would be timed beside it. It
/// ends with the object or the process. (A socket without a file; programs in other network namespaces do not see it.)
class SlotTurn {
 public:
  SlotTurn() = default;
  SlotTurn(const SlotTurn&) = delete;
  ~SlotTurn() { give_back(); }

  /// False while another process has it.
  bool take(const std::string& slot);
  void give_back();

 private:
  int socket_ = -1;
};

}  // namespace whet
