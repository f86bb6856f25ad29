#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace whet {

/// A program of the user's that carries a session: our end of its standard input and output. What it writes to standard
/// error is kept for messages. It is in a process group of its own, which ^C does not reach.
class ChildStream {
 public:
  /// Starts argv[0], looked up on PATH. An error says that there is no such program.
  static Result<ChildStream> start(const std::vector<std::string>& argv);

  ChildStream(ChildStream&&) noexcept;
  ChildStream& operator=(ChildStream&&) noexcept;
  ~ChildStream() { end(); }

  int in() const { return in_; }    ///< to read from
  int out() const { return out_; }  ///< to write to

  /// Closes the streams, gives the program a moment to end, then kills its group.
  void end();
  /// Whether the program has ended, within `seconds`.
  bool has_ended(double seconds);
  /// Its exit status once it has ended; -1: it lives, or a signal ended it.
  int exit_status() const { return status_; }
  /// The last line that it wrote to standard error, printable; "" where there is none.
  std::string last_words();

 private:
  ChildStream() = default;
  void read_errors();

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, errors_ = -1, status_ = -1;
  std::string words_;
};

}  // namespace whet
