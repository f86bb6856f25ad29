// Tuning and compiling models from C++17, over whet/tuner.h: a header alone, which throws nothing and builds with -fno-exceptions.
//
//   whet::Tuner tuner = whet::Tuner::create().value();
//   whet::Problem model = tuner.load("model.onnx", {.options = R"({"shape": ["data=1x3x224x224"]})"}).value();
//   if (auto tuned = model.tune({.seconds = 10}, print); !tuned) std::puts(tuned.error().c_str());
//   model.compile({.output = "model.so"});
//
// (Names in braces need C++20; in C++17 the structs are filled member by member.)
#ifndef WHET_TUNER_HPP
#define WHET_TUNER_HPP

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whet/templates.hpp"
#include "whet/tuner.h"

namespace whet {

/// A value, or a sentence about why there is none.
template <typename T>
class [[nodiscard]] TunerResult {
 public:
  TunerResult(T value) : value_(std::move(value)), ok_(true) {}  // NOLINT: implicit, so that `return value;` reads well
  static TunerResult failed(std::string sentence) {
    TunerResult result;
    result.error_ = std::move(sentence);
    return result;
  }

  explicit operator bool() const { return ok_; }
  const std::string& error() const { return error_; }
  /// Ends the program with the sentence where there is none.
  T& value() & { return checked(), value_; }
  const T& value() const& { return checked(), value_; }
  T&& value() && { return checked(), std::move(value_); }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }

 private:
  TunerResult() = default;
  void checked() const {
    if (ok_) return;
    std::fprintf(stderr, "%s\n", error_.c_str());
    std::abort();
  }

  T value_{};
  bool ok_ = false;
  std::string error_;
};

/// As whet_load_options has it; "" is the default.
struct LoadProblem {
  std::string name, records, options;
};
struct TuneProblem {
  std::uint32_t trials = 0;
  double seconds = 0;
  std::string records, options;
  // Schedules of one's own (whet/templates.hpp), which are searched beside whet's.
  std::vector<TaskTemplate> templates = {};
  std::vector<Rule> rules = {};
  bool only_templates = false;  ///< nothing else is searched, and only tasks that have one are tuned
};
struct CompileProblem {
  std::string output, records, options;
};

/// Gets an event as a line of JSON; false ends the run.
/// It throws nothing: the program would end.
using OnEvent = std::function<bool(std::string_view json)>;

/// A model or an operator with its tasks. One call at a time; an empty one (a default, or moved from) may only be assigned to.
class Problem {
 public:
  Problem() = default;
  Problem(Problem&& other) noexcept : problem_(std::exchange(other.problem_, nullptr)) {}
  Problem& operator=(Problem&& other) noexcept {
    std::swap(problem_, other.problem_);
    return *this;
  }
  ~Problem() { whet_tuner_v1()->problem_destroy(problem_); }

  TunerResult<std::string> tasks() {
    return text([&](whet_text* to, whet_error* error) { return api().problem_tasks(problem_, to, error); });
  }
  /// The same as templates see them.
  TunerResult<std::vector<TaskView>> task_views() {
    const TunerResult<std::string> told = tasks();
    if (!told) return TunerResult<std::vector<TaskView>>::failed(told.error());
    return TemplateTables::read_tasks(told.value());
  }
  /// Gives what `whet tune --json` prints.
  TunerResult<std::string> tune(const TuneProblem& options = {}, const OnEvent& on_event = {}) {
    if (options.templates.empty() && options.rules.empty() && !options.only_templates)
      return tune_plain(options, on_event);
    const TunerResult<std::vector<TaskView>> views = task_views();
    if (!views) return TunerResult<std::string>::failed(views.error());
    std::vector<int> ids;
    std::string error;
    const std::string lines = TemplateTables::write(views.value(), options.templates, options.rules,
                                                    options.only_templates, ids, error);
    if (!error.empty()) return TunerResult<std::string>::failed(error);
    const char* const folder = std::getenv("TMPDIR");
    std::string path = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/whet-templates-XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) return TunerResult<std::string>::failed(path + ": cannot be made; templates go through a file");
    std::size_t written = 0;
    while (written < lines.size()) {
      const auto put = ::write(file, lines.data() + written, lines.size() - written);
      if (put <= 0) break;
      written += static_cast<std::size_t>(put);
    }
    ::close(file);
    TuneProblem plain;
    plain.trials = options.trials, plain.seconds = options.seconds, plain.records = options.records;
    plain.options = with_option(options.options, "templates", TemplateTables::quoted(path));
    if (options.only_templates) {
      std::string tasks;
      for (const int id : ids) tasks += (tasks.empty() ? "" : ",") + std::to_string(id);
      plain.options = with_option(plain.options, "tasks", TemplateTables::quoted(tasks));
    }
    TunerResult<std::string> tuned = written == lines.size()
                                         ? tune_plain(plain, on_event)
                                         : TunerResult<std::string>::failed(path + ": cannot be written");
    ::unlink(path.c_str());
    return tuned;
  }
  /// Gives what `whet compile --json` prints.
  TunerResult<std::string> compile(const CompileProblem& options) {
    whet_compile_options plain = {};
    plain.struct_bytes = sizeof plain, plain.output = or_null(options.output);
    plain.records = or_null(options.records), plain.options = or_null(options.options);
    return text([&](whet_text* to, whet_error* error) { return api().problem_compile(problem_, &plain, to, error); });
  }
  TunerResult<std::string> explain(const std::string& topic, const std::string& options = "") {
    return text([&](whet_text* to, whet_error* error) {
      return api().problem_explain(problem_, topic.c_str(), or_null(options), to, error);
    });
  }
  /// The answer of `whet serve` to a request.
  TunerResult<std::string> ask(std::string_view request) {
    return text([&](whet_text* to, whet_error* error) {
      return api().problem_ask(problem_, request.data(), request.size(), to, error);
    });
  }

 private:
  friend class Tuner;
  explicit Problem(whet_problem* problem) : problem_(problem) {}
  static const whet_tuner_api& api() { return *whet_tuner_v1(); }
  /// Without templates.
  TunerResult<std::string> tune_plain(const TuneProblem& options, const OnEvent& on_event) {
    whet_tune_options plain = {};
    plain.struct_bytes = sizeof plain, plain.trials = options.trials, plain.seconds = options.seconds;
    plain.records = or_null(options.records), plain.options = or_null(options.options);
    return text([&](whet_text* to, whet_error* error) {
      return api().problem_tune(problem_, &plain, on_event ? call : nullptr, const_cast<OnEvent*>(&on_event), to,
                                error);
    });
  }
  static const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
  /// A JSON object with one more member.
  static std::string with_option(const std::string& json, const std::string& name, const std::string& value) {
    const std::string member = TemplateTables::quoted(name) + ": " + value;
    const std::size_t open = json.find('{');
    if (open == std::string::npos) return json.empty() ? "{" + member + "}" : json;  // no object: a sentence says so
    const bool is_empty = json.find_first_not_of(" \t\r\n", open + 1) == json.find('}', open + 1);
    return json.substr(0, open + 1) + member + (is_empty ? "" : ", ") + json.substr(open + 1);
  }
  static int call(void* on_event, const char* json, size_t size) noexcept {
    return (*static_cast<const OnEvent*>(on_event))(std::string_view(json, size)) ? 0 : 1;
  }
  template <typename Call>
  static TunerResult<std::string> text(const Call& ask) {
    whet_text text = {};
    whet_error error;
    if (ask(&text, &error) != 0) return TunerResult<std::string>::failed(error.message);
    return std::string(text.data, text.size);
  }

  whet_problem* problem_ = nullptr;
};

/// Lives longer than its problems. Any thread.
class Tuner {
 public:
  Tuner() = default;
  Tuner(Tuner&& other) noexcept : tuner_(std::exchange(other.tuner_, nullptr)) {}
  Tuner& operator=(Tuner&& other) noexcept {
    std::swap(tuner_, other.tuner_);
    return *this;
  }
  ~Tuner() { whet_tuner_v1()->tuner_destroy(tuner_); }

  ///   program  the path of the program whet; "": beside libwhet.so, or in PATH
  static TunerResult<Tuner> create(const std::string& program = "", whet_on_note on_note = nullptr,
                                   void* user = nullptr) {
    whet_tuner_options options = {};
    options.struct_bytes = sizeof options, options.program = Problem::or_null(program);
    options.on_note = on_note, options.user = user;
    Tuner tuner;
    whet_error error;
    if (Problem::api().tuner_create(&options, &tuner.tuner_, &error) != 0)
      return TunerResult<Tuner>::failed(error.message);
    return tuner;
  }
  TunerResult<Problem> load(const std::string& path, const LoadProblem& options = {}) {
    const whet_load_options plain = plain_of(options);
    return loaded([&](whet_problem** problem, whet_error* error) {
      return Problem::api().problem_load(tuner_, path.c_str(), &plain, problem, error);
    });
  }
  /// A file's bytes, or the text of an operator (whet/op.hpp).
  TunerResult<Problem> load_bytes(std::string_view bytes, const LoadProblem& options = {}) {
    const whet_load_options plain = plain_of(options);
    return loaded([&](whet_problem** problem, whet_error* error) {
      return Problem::api().problem_load_bytes(tuner_, bytes.data(), bytes.size(), &plain, problem, error);
    });
  }
  ///   query  best, stats or show
  TunerResult<std::string> records(const std::string& path, const std::string& query) {
    return Problem::text([&](whet_text* to, whet_error* error) {
      return Problem::api().records_read(tuner_, path.c_str(), query.c_str(), to, error);
    });
  }

 private:
  static whet_load_options plain_of(const LoadProblem& options) {
    whet_load_options plain = {};
    plain.struct_bytes = sizeof plain, plain.name = Problem::or_null(options.name);
    plain.records = Problem::or_null(options.records), plain.options = Problem::or_null(options.options);
    return plain;
  }
  template <typename Load>
  static TunerResult<Problem> loaded(const Load& load) {
    Problem problem;
    whet_error error;
    if (load(&problem.problem_, &error) != 0) return TunerResult<Problem>::failed(error.message);
    return problem;
  }

  whet_tuner* tuner_ = nullptr;
};

}  // namespace whet

#endif
