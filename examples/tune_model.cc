// Tunes a model for this machine and compiles it, by libwhet.so: what it finds while it searches, and the library at the end.
//
//   tune_model model.onnx model.so [seconds]
//   c++ -std=c++17 tune_model.cc -lwhet

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "whet/tuner.hpp"

namespace {

/// The number behind "name": in a line of JSON; negative where there is none.
double number_in(std::string_view json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":");
  if (at == std::string_view::npos) return -1;
  return std::atof(std::string(json.substr(at + name.size() + 3, 32)).c_str());
}

/// Prints the progress; the run goes on.
bool hear(std::string_view event) {
  if (event.find("\"event\":\"round\"") == std::string_view::npos) return true;
  const double best = number_in(event, "best_ms");
  if (best > 0) std::printf("%5.1f s  all tasks together %.4f ms\n", number_in(event, "seconds"), best);
  return true;
}

int fail(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: %s model.onnx model.so [seconds]\n", argv[0]);
    return 2;
  }
  auto tuner = whet::Tuner::create();
  if (!tuner) return fail(tuner.error());
  auto model = tuner->load(argv[1]);
  if (!model) return fail(model.error());

  whet::TuneProblem tune;
  tune.seconds = argc > 3 ? std::atof(argv[3]) : 10;
  const auto tuned = model->tune(tune, hear);
  if (!tuned) return fail(tuned.error());

  whet::CompileProblem compile;
  compile.output = argv[2];
  auto compiled = model->compile(compile);
  if (!compiled) return fail(compiled.error());
  std::printf("%s: %.0f bytes, %.4f ms are hoped for\n", argv[2], number_in(*compiled, "file_bytes"),
              number_in(*compiled, "predicted_ms"));
  return 0;
}
