#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "workflow/compiling.h"
#include "workflow/tuning.h"

namespace whet {

/// The options of a call by the names that they have on the command line, without dashes, each bound to a variable that holds its
/// default. They come as a JSON object: {"trials": 200, "shape": ["x=1x3"], "no-network": true}.
class OptionTable {
 public:
  /// Also takes a number, as in {"tasks": 3}.
  void text(const std::string& name, std::string& value);
  /// Takes a text or a list of them.
  void texts(const std::string& name, std::vector<std::string>& values);
  /// Takes a text, a number or a list of them.
  void words(const std::string& name, std::vector<std::string>& values);
  void integer(const std::string& name, int& value, int low, int high);
  void seed(const std::string& name, std::uint64_t& value);
  void number(const std::string& name, double& value, double low, double high);
  /// Takes a number, or true for `usual`.
  void number_or_true(const std::string& name, double& value, double usual, double low, double high);
  void flag(const std::string& name, bool& value);
  void choice(const std::string& name, std::string& value, std::vector<std::string> words);

  std::vector<std::string> names() const;
  /// Sets what the object has; "" is an empty one. An error names the call, the option, what was found and what would be right.
  Status read(std::string_view json, const std::string& call) const;

 private:
  struct Row {
    std::string name, expected;
    std::function<bool(const Json&)> take;  ///< false where it is no such value
  };
  void add(const std::string& name, std::string expected, std::function<bool(const Json&)> take);

  std::vector<Row> rows_;
};

/// What `whet tune` is asked for beside its settings.
struct TuneRequest {
  TuneSettings settings;
  std::string layouts = "search", covers = "search";
  std::string report;  ///< a page to write; "": none
  std::string events;  ///< as `--events` has it; "": none
  double seconds = 0, minutes = 0;
};
/// What `whet compile` is asked for beside its settings.
struct CompileRequest {
  CompileSettings settings;
  std::string events;
};

// The options of a call; the variables outlive the table.

/// Those of `whet serve`.
OptionTable load_options(TuneSettings&);
/// Those of `whet tune`.
OptionTable tune_options(TuneRequest&);
/// Those of `whet compile`.
OptionTable compile_options(CompileRequest&);

}  // namespace whet
