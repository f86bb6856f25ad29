// whet serve: spaces and measurements of a model's tasks for another program, request by request.

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "workflow/serve.h"

namespace whet {
namespace {

Result<int> run(TuneSettings& settings, const std::function<bool(const std::string&)>& given) {
  if (settings.model.model.empty()) {
    std::vector<std::string> of_models = {"--input", "--sizes"};
    for (const std::string& option : shape_options())
      if (option != "--seed") of_models.push_back(option);
    WHET_RETURN_IF_ERROR(refuse_given(given, of_models, "serve", "is of a MODEL, and none is given"));
  }
  if (settings.model.sizes.empty())
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--tuning-sizes", "--lengths", "--hot-sizes"}, "serve",
                                      "counts only for a model with --sizes"));
  WHET_RETURN_IF_ERROR(check_repeat(settings, "serve"));
  if (settings.records.empty())
    return wrong_use({"serve: -o is missing; give the record file that measurements go to"});
  settings.where.interrupted = is_interrupted;
  WHET_TRY(Zygote zygote, Zygote::start());
  end_at_interrupts("Interrupted before anything was measured");
  const auto await = [&] { await_interrupts("Interrupted; records kept in " + settings.records); };
  WHET_RETURN_IF_ERROR(serve(settings, zygote, STDIN_FILENO, STDOUT_FILENO, await));
  return is_interrupted() ? kInterrupted : kDone;
}

}  // namespace

CommandAction make_serve(Arguments& arguments) {
  auto settings = std::make_shared<TuneSettings>();
  arguments.add("MODEL", settings->model.model,
                "A model file, or zoo:NAME; without one, tasks are defined by requests");
  arguments.reads(settings->model.model);
  add_shapes(arguments, settings->model);
  add_sizes(arguments, settings->model);
  add_tuning_sizes(arguments, settings->tuning_sizes);
  add_hot_sizes(arguments, settings->tuning_sizes);
  arguments.add("--input", settings->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, settings->where);
  arguments.add("-o,--output", settings->records, "Record file that measurements are appended to");
  arguments.writes("--output", settings->records, FileKind::records);
  add_options(arguments, settings->base);
  add_options(arguments, settings->rounding, "schedules");
  add_measuring(arguments, *settings);
  return [settings, given = arguments.given()] { return run(*settings, given); };
}

}  // namespace whet
