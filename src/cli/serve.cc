// whet serve: spaces and measurements of a model's tasks for another program, request by request.

#include <unistd.h>

#include <memory>

#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "session/serve.h"

namespace whet {
namespace {

int run(TuneSettings& settings) {
  if (settings.records.empty())
    return wrong_use({"serve: -o is missing; give the record file that measurements go to"});
  settings.where.interrupted = is_interrupted;
  Result<Zygote> zygote = Zygote::start();
  if (!zygote.ok()) return fail(zygote.error());
  await_interrupts();
  const Status served = serve(settings, *zygote, STDIN_FILENO, STDOUT_FILENO);
  if (!served.ok()) return fail(served.error());
  return is_interrupted() ? kInterrupted : kDone;
}

}  // namespace

std::function<int()> make_serve(Arguments& arguments) {
  auto settings = std::make_shared<TuneSettings>();
  arguments.add("MODEL", settings->model.model,
                "A model file, or zoo:NAME; without one, tasks are defined by requests");
  arguments.reads(settings->model.model);
  add_shapes(arguments, settings->model);
  arguments.add("--input", settings->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, settings->where);
  arguments.add("-o,--output", settings->records, "Record file that measurements are appended to");
  arguments.writes("--output", settings->records, FileKind::records);
  add_options(arguments, settings->rounding, "schedules");
  add_measuring(arguments, *settings);
  return [settings] { return run(*settings); };
}

}  // namespace whet
