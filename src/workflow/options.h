#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device_name.h"
#include "device/local/zygote.h"
#include "machine/cores.h"
#include "target/target.h"
#include "tensor/shape.h"

namespace whet {

/// Takes a note for the user: a sentence about what was skipped, assumed or brought. Where it is empty the note is lost.
using Tell = std::function<void(const std::string&)>;
inline void tell(const Tell& user, const std::string& note) {
  if (user) user(note);
}

/// `--target`, `--threads`, `--cores`: what code is made for and who runs it.
struct TargetOptions {
  std::string target;                              ///< text form; "": this machine
  int threads = 0;                                 ///< 0: the physical cores of the kind
  std::string cores;                               ///< "", "big", "little", "prime" or a list like "0-3"
  std::optional<std::string> environment_threads;  ///< WHET_NUM_THREADS, where no option decides; nothing: not set
};

/// A target and the processors of this machine that run its threads.
struct TargetOnCores {
  Target target;
  Cores cores;
  std::string gpu;   ///< the name of the GPU that was asked for its target; "" where none was
  std::string note;  ///< what decided the number of threads, where it was not the machine; a sentence or ""
};

/// Options first, then WHET_NUM_THREADS, then the machine. The target "cuda" alone is that of
/// the GPU that is named, the first where none is; the driver is asked in a process of the zygote's, or in this one
/// where there is none.
Result<TargetOnCores> choose_target(const TargetOptions&, const DeviceName& = {}, Zygote* = nullptr);

/// "data=1x3x224x224" entries.
Result<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& entries);

/// "cores 0,1; big"
std::string cores_text(const Cores&);

}  // namespace whet
