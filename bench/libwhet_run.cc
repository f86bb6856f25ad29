// What libwhet.so takes, from a program that opens it: bench/own_operators.
//
//   libwhet_run LIBWHET import MODEL                        prints the seconds of dlopen, a tuner and the import of MODEL
//   libwhet_run LIBWHET tune MODEL PROGRAM RECORDS TRIALS SEED   prints the report of a tuning run
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bursts.h"
#include "whet/tuner.h"

namespace {

whet_error error;

int fail(const char* what) { return std::fprintf(stderr, "libwhet_run: %s: %s\n", what, error.message), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: libwhet_run LIBWHET import|tune MODEL ...\n"), 2;
  const double start = bench::now();
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "libwhet_run: %s\n", dlerror()), 1;
  const auto table = reinterpret_cast<const whet_tuner_api* (*)()>(dlsym(library, "whet_tuner_v1"));
  if (table == nullptr) return std::fprintf(stderr, "libwhet_run: %s\n", dlerror()), 1;
  const whet_tuner_api& whet = *table();
  whet_tuner_options options = {};
  options.struct_bytes = sizeof options;
  if (argc > 4) options.program = argv[4];
  whet_tuner* tuner = nullptr;
  whet_problem* problem = nullptr;
  if (whet.tuner_create(&options, &tuner, &error) != 0) return fail("tuner_create");
  if (whet.problem_load(tuner, argv[3], nullptr, &problem, &error) != 0) return fail("problem_load");
  if (std::strcmp(argv[2], "import") == 0) {
    std::printf("%.6f\n", bench::now() - start);
  } else if (argc == 8) {
    whet_tune_options tune = {};
    tune.struct_bytes = sizeof tune, tune.records = argv[5], tune.trials = std::strtoul(argv[6], nullptr, 10);
    const std::string more =
        std::string("{\"no-network\": true, \"layouts\": \"nhwc\", \"covers\": \"off\", \"seed\": ") + argv[7] + "}";
    tune.options = more.c_str();
    whet_text report = {};
    if (whet.problem_tune(problem, &tune, nullptr, nullptr, &report, &error) != 0) return fail("problem_tune");
    std::printf("%s\n", report.data);
  }
  whet.problem_destroy(problem);
  whet.tuner_destroy(tuner);
  return 0;
}
