// Runs a compiled model through the C API and holds its outputs against given ones; for an emulated processor. It links no C++
// library.
//   model_answers BOUND MODEL.so IN.npy... -- OUT.npy...     floats of 32 bits, in the order of the model's inputs and outputs
// BOUND is the largest difference that is right, as a share of an output's largest magnitude.
//   model_answers raw MODEL.so IN... -- OUT...     reads the bytes of any tensors and writes those of the outputs (tests/node_tests)

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whet/model.h"

namespace {

/// The rest of a file, aligned to 64 bytes; null where it has another number of bytes. Closes the file.
void* read_rest(FILE* file, int64_t bytes) {
  const size_t size = static_cast<size_t>(bytes);
  void* data = aligned_alloc(64, (size + 64) / 64 * 64);
  const bool whole = fread(data, 1, size, file) == size && fgetc(file) == EOF;
  fclose(file);
  return whole ? data : nullptr;
}

/// The elements of a .npy file of version 1.
void* read_npy(const char* path, int64_t bytes) {
  FILE* file = fopen(path, "rb");
  unsigned char head[10];
  if (file == nullptr || fread(head, 1, sizeof head, file) != sizeof head || memcmp(head, "\x93NUMPY\x01", 7) != 0)
    return nullptr;
  fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET);
  return read_rest(file, bytes);
}

void* read_raw(const char* path, int64_t bytes) {
  FILE* file = fopen(path, "rb");
  return file == nullptr ? nullptr : read_rest(file, bytes);
}

int fail(const char* what) {
  printf("%s\n", what);
  return 1;
}

/// Whether the output is as near as it has to be.
bool agrees(double bound, const whet_tensor_info* info, const float* got, const float* wanted) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < info->bytes / 4; ++i) {
    largest = fmax(largest, fabs(static_cast<double>(wanted[i])));
    const double error = fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    worst = error == error ? fmax(worst, error) : INFINITY;
  }
  const bool good = worst <= bound * largest;
  printf("  %s: %.2g of the largest magnitude off, pages of %ld bytes%s\n", info->name, worst / largest,
         sysconf(_SC_PAGESIZE), good ? "" : ": WRONG");
  return good;
}

/// Reads and sets the session's inputs; 0, or 1 and a line.
int set_inputs(const whet_api* api, whet_model* model, whet_session* session, void* (*read)(const char*, int64_t),
               char** files, int count) {
  const whet_model_info* info = api->model_info(model);
  whet_error error;
  if (static_cast<uint32_t>(count) != info->inputs + info->outputs + 1)
    return fail("another number of files is wanted");
  for (uint32_t i = 0; i < info->inputs; ++i) {
    const void* data = read(files[i], api->model_input(model, i)->bytes);
    if (data == nullptr) return fail(files[i]);
    if (api->session_set_input(session, i, data, nullptr, &error) != 0) return fail(error.message);
  }
  return 0;
}

int write_outputs(const whet_api* api, whet_model* model, whet_session* session, char** files, int count) {
  if (set_inputs(api, model, session, read_raw, files, count) != 0) return 1;
  const whet_model_info* info = api->model_info(model);
  whet_error error;
  if (api->session_run(session, &error) != 0) return fail(error.message);
  for (uint32_t i = 0; i < info->outputs; ++i) {
    const size_t bytes = static_cast<size_t>(api->model_output(model, i)->bytes);
    FILE* file = fopen(files[info->inputs + 1 + i], "wb");
    if (file == nullptr || fwrite(api->session_output(session, i), 1, bytes, file) != bytes || fclose(file) != 0)
      return fail("an output cannot be written");
  }
  return 0;
}

int check(double bound, const whet_api* api, whet_model* model, whet_session* session, char** files, int count) {
  if (set_inputs(api, model, session, read_npy, files, count) != 0) return 1;
  const whet_model_info* info = api->model_info(model);
  whet_error error;
  int wrong = 0;
  for (int run = 0; run < 2; ++run) {  // the second one begins with what the first one left
    if (api->session_run(session, &error) != 0) return fail(error.message);
    for (uint32_t i = 0; run == 1 && i < info->outputs; ++i) {
      const whet_tensor_info* output = api->model_output(model, i);
      const float* wanted = static_cast<const float*>(read_npy(files[info->inputs + 1 + i], output->bytes));
      if (wanted == nullptr) return fail(files[info->inputs + 1 + i]);
      wrong |= agrees(bound, output, static_cast<const float*>(api->session_output(session, i)), wanted) ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace

int main(int count, char** words) {
  whet_library library;
  whet_error error;
  whet_model* model = nullptr;
  whet_pool* pool = nullptr;
  whet_session* session = nullptr;
  whet_pool_options options = {};
  if (count < 3) return fail("usage: model_answers BOUND|raw MODEL.so IN... -- OUT...");
  options.threads = 2;
  options.no_pin = 1;
  if (whet_library_open(words[2], 0, &library, &error) != 0) return fail(error.message);
  if (library.api->model_open(nullptr, &model, &error) != 0 || library.api->pool_create(&options, &pool, &error) != 0 ||
      library.api->session_create(model, pool, &session, &error) != 0)
    return fail(error.message);
  if (strcmp(words[1], "raw") == 0) return write_outputs(library.api, model, session, words + 3, count - 3);
  return check(atof(words[1]), library.api, model, session, words + 3, count - 3);
}
