// whet-device: runs kernels that a whet elsewhere sends over standard input and output (docs/formats/device.md). One static
// file, which whet brings to the board itself.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/version.h"
#include "board/describe.h"
#include "board/model_client.h"
#include "board/sandbox.h"
#include "board/supervisor.h"

namespace {

constexpr int kWrongUsage = 2;
constexpr double kDeadSeconds = 10;

int usage() {
  std::fprintf(
      stderr,
      "usage: whet-device --stdio [--sandbox strict|best|off] [--no-models] [--model-runner COMMAND] [--emulated]\n"
      "                      serve whet over standard input and output\n"
      "       whet-device --version\n"
      "  --sandbox MODE      how kernels are kept from this machine: strict (the default) refuses to serve where a\n"
      "                      layer is missing, best does without it, off lets kernels do what this user may do\n"
      "  --no-models         run kernels, and no compiled models\n"
      "  --model-runner COMMAND  run compiled models by this command, like \"qemu-aarch64-static -L "
      "/usr/aarch64-linux-gnu\":\n"
      "                      needed where an emulator of programs runs whet-device\n"
      "  --emulated          say that an emulator runs this machine: needed where it emulates a whole system\n");
  return kWrongUsage;
}

/// The strict layers that are not there; "" for none.
std::string missing_layers(int layers) {
  std::string missing;
  for (const std::string& name : whet::layer_names(whet::strict_layers() & ~layers))
    missing += (missing.empty() ? "" : ", ") + name;
  return missing;
}

/// The lives of what runs foreign code.
struct Lives {
  const whet::Life *kernels, *models;
};
Lives lives_in(whet::SandboxMode sandbox) {
  switch (sandbox) {
    case whet::SandboxMode::strict:
      return {&whet::kStrictRunner, &whet::kStrictModels};
    case whet::SandboxMode::best:
      return {&whet::kBestRunner, &whet::kBestModels};
    case whet::SandboxMode::off:
      break;
  }
  return {&whet::kRunner, &whet::kModels};
}

int serve(bool emulated, bool models, whet::SandboxMode sandbox) {
  // Before anything else is there that runners would inherit.
  whet::Result<whet::Zygote> zygote = whet::Zygote::start();
  if (!zygote.ok()) {
    std::fprintf(stderr, "whet-device: %s\n", zygote.error().message.c_str());
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  whet::DeviceDescription board = whet::describe_board();
  board.emulator = whet::emulator_of_this_program(zygote->pid());
  // An emulator of programs filters no system calls, and its times are not for use.
  if (sandbox == whet::SandboxMode::strict && !board.emulator.empty()) sandbox = whet::SandboxMode::best;
  const int layers = sandbox == whet::SandboxMode::off ? 0 : whet::probe_sandbox(*zygote);
  const std::string missing = missing_layers(layers);
  if (sandbox == whet::SandboxMode::strict && !missing.empty()) {
    std::fprintf(stderr,
                 "whet-device: this system does not give kernels a whole sandbox, it lacks: %s. --sandbox best serves "
                 "without\n",
                 missing.c_str());
    return 1;
  }
  board.sandbox = whet::layer_names(layers);
  if (board.emulator.empty() && emulated) board.emulator = "an emulator";
  whet::SessionLink link(STDIN_FILENO, STDOUT_FILENO, board.limits.message_bytes, kDeadSeconds);
  const Lives lives = lives_in(sandbox);
  return whet::serve_session(link, *zygote, board, {}, *lives.kernels, models ? lives.models : nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  bool stdio = false, emulated = false, models = true;
  whet::SandboxMode sandbox = whet::SandboxMode::strict;
  const auto is = [&](int i, const char* word) { return i < argc && std::strcmp(argv[i], word) == 0; };
  for (int i = 1; i < argc; ++i) {
    if (is(i, "--version")) return std::printf("%s\n", whet::version().c_str()) > 0 ? 0 : 1;
    if (is(i, "--stdio"))
      stdio = true;
    else if (is(i, "--emulated"))
      emulated = true;
    else if (is(i, "--no-models"))
      models = false;
    else if (is(i, "--model-runner") && i + 1 < argc)
      whet::set_model_runner(argv[++i]);
    else if (is(i, "--sandbox") && is(i + 1, "strict"))
      sandbox = whet::SandboxMode::strict, ++i;
    else if (is(i, "--sandbox") && is(i + 1, "best"))
      sandbox = whet::SandboxMode::best, ++i;
    else if (is(i, "--sandbox") && is(i + 1, "off"))
      sandbox = whet::SandboxMode::off, ++i;
    else
      return usage();
  }
  return stdio ? serve(emulated, models, sandbox) : usage();
}
