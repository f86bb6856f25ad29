#pragma once

#include <sys/types.h>

#include <string>

#include "faults/session.h"

namespace whet::faults {

/// Two network namespaces, this process's own and a far one, and a cable between them (a veth pair). The addresses are kNear and kFar.
/// Processes of a test are at the near end unless they are started with `far()`.
class Cable {
 public:
  static constexpr const char* kNear = "10.77.0.1";
  static constexpr const char* kFar = "10.77.0.2";

  /// This process leaves the network where it was for ever: before it has threads.
  Cable();
  ~Cable();
  Cable(const Cable&) = delete;

  /// "" or why there is none: the system refuses namespaces, or iproute2 is missing.
  const std::string& why_not() const { return why_not_; }
  /// What starts a program at the far end.
  Surroundings far() const;
  void pull() const;
  void plug() const;
  /// From now on the near end sends at this rate [bit/s], and drops packets where more than a few would wait.
  void squeeze(const std::string& rate) const;
  /// How many packets were dropped since.
  long dropped() const;

 private:
  pid_t far_ = -1;
  std::string why_not_;
};

}  // namespace whet::faults
