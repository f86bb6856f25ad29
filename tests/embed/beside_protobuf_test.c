/* libwhet.so in a program that has protobuf and ONNX's messages already, visible to all libraries: it reads a model, and goes again.
 *   beside_protobuf_test LIBWHET MODEL */
#include <dlfcn.h>
#include <stdio.h>

#include "whet/tuner.h"

static int failed(const char* why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

int main(int argc, char** argv) {
  const whet_tuner_api* (*table)(void) = NULL;
  const whet_tuner_api* whet;
  whet_tuner* tuner;
  whet_problem* problem;
  whet_text text;
  whet_error error;
  void* library;
  if (argc != 3) return 2;
  if (dlopen("libonnx_proto.so.1", RTLD_NOW | RTLD_GLOBAL) == NULL) return failed(dlerror());
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return failed(dlerror());
  *(void**)&table = dlsym(library, "whet_tuner_v1");
  if (table == NULL) return failed("no table of functions");
  whet = table();
  if (whet->tuner_create(NULL, &tuner, &error) != 0 ||
      whet->problem_load(tuner, argv[2], NULL, &problem, &error) != 0 ||
      whet->problem_tasks(problem, &text, &error) != 0)
    return failed(error.message);
  printf("%d bytes about tasks\n", (int)text.size);
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
  return dlclose(library) == 0 ? 0 : failed(dlerror());
}
