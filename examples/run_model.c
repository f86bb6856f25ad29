/* Runs any compiled model on made-up inputs, by the C API alone, and prints its outputs and where the time went.
 *
 *   run_model model.so [runs] [threads]
 *   cc -Iinclude run_model.c -ldl */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whet/model.h"

/* Numbers between -1 and 1 that do not repeat soon; the same at every start. Integer tensors get zeros. */
static void fill(const whet_tensor_info* info, void* data) {
  uint32_t state = 12345;
  int64_t i;
  memset(data, 0, (size_t)info->bytes);
  if (info->dtype != WHET_F32) return;
  for (i = 0; i < info->bytes / 4; ++i) {
    state = state * 1664525u + 1013904223u;
    ((float*)data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}

static void print_tensor(const char* what, const whet_tensor_info* info) {
  uint32_t d;
  printf("%s %s: %s[", what, info->name, whet_dtype_name(info->dtype));
  for (d = 0; d < info->rank; ++d) printf("%s%lld", d ? "x" : "", (long long)info->shape[d]);
  printf("]");
}

static int fail(const whet_error* error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

/* `data` holds one pointer an input: the session reads them at every run, so they live as long as it runs. */
static int run_on(const whet_api* whet, whet_session* session, const whet_model* model, int runs, void** data) {
  const whet_model_info* info = whet->model_info(model);
  whet_profile profile;
  whet_error error;
  uint32_t i;
  int r;
  for (i = 0; i < info->inputs; ++i) {
    const whet_tensor_info* input = whet->model_input(model, i);
    data[i] = aligned_alloc(64, ((size_t)input->bytes + 64) / 64 * 64); /* aligned: no copy at every run */
    fill(input, data[i]);
    print_tensor("input ", input);
    printf("\n");
    if (whet->session_set_input(session, i, data[i], NULL, &error) != 0) return fail(&error);
  }
  if (whet->session_run(session, &error) != 0) return fail(&error); /* warm */
  whet->session_set_profiling(session, 1);
  for (r = 0; r < runs; ++r) {
    if (whet->session_run(session, &error) != 0) return fail(&error);
  }
  for (i = 0; i < info->outputs; ++i) {
    const whet_tensor_info* output = whet->model_output(model, i);
    print_tensor("output", output);
    if (output->dtype == WHET_F32 && output->bytes > 0) {
      printf(" = %g ...", (double)*(const float*)whet->session_output(session, i));
    }
    printf("\n");
  }
  whet->session_profile(session, &profile);
  for (i = 0; i < profile.steps; ++i) {
    printf("%10.3f us  %s  (%s)\n", (double)profile.step[i].min_ns / 1e3, profile.step[i].op, profile.step[i].node);
  }
  printf("%10.3f us  in all, the fastest of %llu runs\n", (double)profile.min_ns / 1e3,
         (unsigned long long)profile.runs);
  return 0;
}

static int run(const whet_api* whet, whet_session* session, const whet_model* model, int runs) {
  const uint32_t inputs = whet->model_info(model)->inputs;
  void** data = calloc(inputs + 1, sizeof *data);
  const int result = run_on(whet, session, model, runs, data);
  uint32_t i;
  for (i = 0; i < inputs; ++i) free(data[i]);
  free(data);
  return result;
}

int main(int argc, char** argv) {
  whet_library library;
  whet_error error;
  whet_model* model = NULL;
  whet_pool* pool = NULL;
  whet_session* session = NULL;
  whet_pool_options options;
  int result;
  memset(&options, 0, sizeof options);
  if (argc < 2) {
    fprintf(stderr, "usage: %s model.so [runs] [threads]\n", argv[0]);
    return 2;
  }
  if (argc > 3) options.threads = (uint32_t)atoi(argv[3]);
  if (whet_library_open(argv[1], 0, &library, &error) != 0) return fail(&error);
  if (library.api->model_open(NULL, &model, &error) != 0) return fail(&error);
  printf("%s, compiled by %s for %s: %s\n", library.api->model_info(model)->name,
         library.api->model_info(model)->compiler, library.api->model_info(model)->target,
         library.api->model_info(model)->records);
  if (library.api->pool_create(&options, &pool, &error) != 0) return fail(&error);
  printf("%s\n", library.api->pool_info(pool)->note);
  if (library.api->session_create(model, pool, &session, &error) != 0) return fail(&error);
  if (*library.api->session_note(session) != '\0') printf("%s\n", library.api->session_note(session));
  result = run(library.api, session, model, argc > 2 ? atoi(argv[2]) : 10);
  library.api->session_destroy(session);
  library.api->pool_destroy(pool);
  library.api->model_close(model);
  whet_library_close(&library);
  return result;
}
