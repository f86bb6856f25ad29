#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "json/json.h"
#include "workflow/measuring.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/quick.h"

namespace whet {

/// What `whet compile` is asked for.
struct CompileSettings {
  ModelOptions model;
  MeasuringOptions where;  ///< devices and a fleet are for `quick`
  RecordOptions records;
  double quick = 0;     ///< seconds of measurements before; 0: nothing is timed
  std::string output;   ///< the library
  std::string ptx;      ///< for a GPU: also a file of the code of all kernels; "": none
  std::string listing;  ///< also a file of the instructions of all kernels, of FILE.ll their LLVM IR; "": none
  std::string weights = "model";
  bool cubin = false;
  /// Of an output "libNAME.a", a static archive: its name in C, which is NAME where none is given, and a header; "": none.
  std::string name, header;
  /// The weights in a file of their own; "": in the library. With `weights_only` the output is that file, for the library `like`, and
  /// nothing else is written.
  std::string weights_file, like;
  bool weights_only = false;
  /// Of `weights_only`: data on which the answers with these weights are judged before the file comes to its place (workflow/samples.h), and
  /// what they may err by (plan/accuracy.h). "": they are not.
  std::string samples;
  std::vector<std::string> max_error;
};

/// Hears how far a compile is; all may be empty.
struct CompileWatch {
  std::function<void(int done, int all)> kernel;                     ///< by several threads, one at a time
  std::function<void(std::int64_t read, std::int64_t all)> reading;  ///< sizes of ranges: now and then, and at the end
  QuickWatch timed;                                                  ///< after each task that `quick` timed
};

/// A library that was written, and what it was made of.
struct CompiledModel {
  CompileReport report;
  Target target;
  std::optional<TuneProgress> timed;          ///< the measurements before, where there were any
  std::string symbol;                         ///< of an archive: its table of functions; "": a library
  std::optional<LadderProgress> ladder = {};  ///< the same of kernels for ranges
};

/// Reads the model, times it where that is asked for, and compiles it. Notes go to `records.tell`.
///   zygote  starts builders and runners; null where `quick` is 0
/// An error of the kind wrong_use: an option asks for what there is not.
Result<CompiledModel> compile_as_asked(CompileSettings, Zygote* zygote, const CompileWatch&);

/// "record", "near record", "transferred", "default schedule"
std::string name_of(TaskReport::Source);
/// What `whet compile --json` prints.
Json compile_json(const std::string& output, const CompiledModel&);

}  // namespace whet
