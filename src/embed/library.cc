// The table of functions of libwhet.so: whet/tuner.h over embed/problem.h. Nothing that is thrown passes.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "embed/guarded.h"
#include "embed/problem.h"
#include "whet/tuner.h"

/// A process of its own has what is used; a child of it has only the memory.
struct whet_tuner {
  const pid_t owner = getpid();
  std::shared_ptr<whet::Workshop> shop;
  whet_on_note on_note = nullptr;
  void* user = nullptr;
};

struct whet_problem {
  whet_tuner* tuner = nullptr;
  const std::shared_ptr<whet::Notes> notes = std::make_shared<whet::Notes>();
  std::unique_ptr<whet::Problem> problem;
  std::atomic<bool> at_work = false;
  std::string text;
};

namespace whet {
namespace {

int failed(whet_error* error, const Error& why) { return whet_fail(error, "%s", why.message.c_str()); }

/// The caller's struct as this library has it: what an older caller does not know is zero.
template <typename Options>
Result<Options> read_struct(const Options* given, std::size_t least, const char* name) {
  Options options = {};
  if (given == nullptr) return options;
  if (given->struct_bytes < least)
    return Error{
        fmt::format("{0}.struct_bytes is {1}; expected sizeof({0}), {2} or more", name, given->struct_bytes, least)};
  std::memcpy(&options, given, std::min<std::size_t>(given->struct_bytes, sizeof options));
  return options;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

Status check_owner(const whet_tuner* tuner) {
  if (tuner == nullptr) return Error{"the tuner is null; expected one of tuner_create"};
  if (tuner->owner == getpid()) return ok_status();
  return Error{fmt::format("the tuner belongs to process {}, and this is a child of it; make a tuner in the child",
                           tuner->owner)};
}

/// Hands over what there is to tell, in the thread that called.
void hand_over_notes(const whet_tuner& tuner, whet::Notes& notes) {
  for (const std::string& note : notes.take())
    if (tuner.on_note != nullptr) tuner.on_note(tuner.user, note.c_str());
}

/// A call on a problem that gives a text. `to` may be null.
template <typename Call>
int call(whet_problem* problem, whet_text* to, whet_error* error, const Call& call) {
  if (problem == nullptr) return whet_fail(error, "the problem is null; expected one of problem_load");
  const Status owner = guarded([&] { return check_owner(problem->tuner); });
  if (!owner.ok()) return failed(error, owner.error());
  if (problem->at_work.exchange(true))
    return whet_fail(error,
                     "the problem is at work in another call; one call at a time, and none from its own callback");
  Result<std::string> text = guarded([&]() -> Result<std::string> { return call(*problem->problem); });
  hand_over_notes(*problem->tuner, *problem->notes);
  if (text.ok()) problem->text = std::move(*text);
  if (text.ok() && to != nullptr) *to = {problem->text.c_str(), problem->text.size()};
  problem->at_work = false;
  return text.ok() ? 0 : failed(error, text.error());
}

int create_tuner(const whet_tuner_options* given, whet_tuner** tuner, whet_error* error) noexcept {
  const Status created = guarded([&]() -> Status {
    if (tuner == nullptr) return Error{"tuner_create: the place for the tuner is null"};
    WHET_TRY(const whet_tuner_options options, read_struct(given, sizeof(whet_tuner_options), "whet_tuner_options"));
    auto made = std::make_unique<whet_tuner>();
    made->shop = std::make_shared<Workshop>(text_of(options.program));
    made->on_note = options.on_note, made->user = options.user;
    *tuner = made.release();
    return ok_status();
  });
  return created.ok() ? 0 : failed(error, created.error());
}

/// In a child of its process nothing ends what is the parent's.
void destroy_tuner(whet_tuner* tuner) noexcept {
  if (tuner != nullptr && tuner->owner == getpid()) delete tuner;
}

int load(whet_tuner* tuner, Problem::Load what, const whet_load_options* given, whet_problem** problem,
         whet_error* error) {
  std::unique_ptr<whet_problem> made;
  const Status loaded = guarded([&]() -> Status {
    WHET_RETURN_IF_ERROR(check_owner(tuner));
    if (problem == nullptr) return Error{"problem_load: the place for the problem is null"};
    if (what.bytes && what.bytes->data() == nullptr && !what.bytes->empty())
      return Error{fmt::format("problem_load_bytes: the bytes are null, and their size is {}", what.bytes->size())};
    WHET_TRY(const whet_load_options options, read_struct(given, sizeof(whet_load_options), "whet_load_options"));
    what.name = text_of(options.name), what.records = text_of(options.records), what.options = text_of(options.options);
    made = std::make_unique<whet_problem>();
    made->tuner = tuner;
    WHET_TRY(made->problem, Problem::load(tuner->shop, made->notes, what));
    return ok_status();
  });
  if (made) hand_over_notes(*tuner, *made->notes);
  if (!loaded.ok()) return failed(error, loaded.error());
  *problem = made.release();
  return 0;
}

int load_problem(whet_tuner* tuner, const char* path, const whet_load_options* options, whet_problem** problem,
                 whet_error* error) noexcept {
  return load(tuner, {.path = text_of(path)}, options, problem, error);
}

int load_problem_bytes(whet_tuner* tuner, const void* bytes, std::size_t size, const whet_load_options* options,
                       whet_problem** problem, whet_error* error) noexcept {
  return load(tuner, {.bytes = std::string_view(static_cast<const char*>(bytes), size)}, options, problem, error);
}

void destroy_problem(whet_problem* problem) noexcept {
  if (problem != nullptr && problem->tuner->owner == getpid()) delete problem;
}

int list_tasks(whet_problem* problem, whet_text* json, whet_error* error) noexcept {
  return call(problem, json, error, [](Problem& of) { return of.tasks(); });
}

int tune_problem(whet_problem* problem, const whet_tune_options* given, whet_on_event on_event, void* user,
                 whet_text* report, whet_error* error) noexcept {
  return call(problem, report, error, [&](Problem& of) -> Result<std::string> {
    WHET_TRY(const whet_tune_options options, read_struct(given, sizeof(whet_tune_options), "whet_tune_options"));
    constexpr std::uint32_t kMostTrials = 1000000000;
    if (options.trials > kMostTrials)
      return Error{fmt::format("tune: trials is {}; expected {} at most", options.trials, kMostTrials)};
    TakeEvent take;
    if (on_event != nullptr)
      take = [=](const std::string& json) { return on_event(user, json.c_str(), json.size()) == 0; };
    return of.tune(
        {static_cast<int>(options.trials), options.seconds, text_of(options.records), text_of(options.options)}, take);
  });
}

int compile_problem(whet_problem* problem, const whet_compile_options* given, whet_text* report,
                    whet_error* error) noexcept {
  return call(problem, report, error, [&](Problem& of) -> Result<std::string> {
    WHET_TRY(const whet_compile_options options,
             read_struct(given, sizeof(whet_compile_options), "whet_compile_options"));
    return of.compile({text_of(options.output), text_of(options.records), text_of(options.options)});
  });
}

int explain_problem(whet_problem* problem, const char* topic, const char* options, whet_text* json,
                    whet_error* error) noexcept {
  return call(problem, json, error, [&](Problem& of) { return of.explain(text_of(topic), text_of(options)); });
}

int ask_problem(whet_problem* problem, const char* request, std::size_t size, whet_text* answer,
                whet_error* error) noexcept {
  return call(problem, answer, error, [&](Problem& of) -> Result<std::string> {
    if (request == nullptr) return Error{"problem_ask: the request is null"};
    return of.ask(std::string_view(request, size));
  });
}

int read_records_file(whet_tuner* tuner, const char* path, const char* query, whet_text* text,
                      whet_error* error) noexcept {
  static thread_local std::string last;  // a tuner may be used by several threads
  const Status read = guarded([&]() -> Status {
    WHET_RETURN_IF_ERROR(check_owner(tuner));
    if (text == nullptr) return Error{"records_read: the place for the text is null"};
    WHET_TRY(last, read_records_as_text(*tuner->shop, text_of(path), text_of(query)));
    *text = {last.c_str(), last.size()};
    return ok_status();
  });
  return read.ok() ? 0 : failed(error, read.error());
}

constexpr whet_tuner_api kApi = {
    sizeof(whet_tuner_api), WHET_TUNER_API_VERSION, create_tuner,    destroy_tuner,
    load_problem,           load_problem_bytes,     destroy_problem, list_tasks,
    tune_problem,           compile_problem,        explain_problem, ask_problem,
    read_records_file,
};

}  // namespace
}  // namespace whet

extern "C" __attribute__((visibility("default"))) const whet_tuner_api* whet_tuner_v1(void) { return &whet::kApi; }
