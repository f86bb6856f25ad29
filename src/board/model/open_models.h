#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "board/model/bytes.h"
#include "board/model/order.h"
#include "whet/model.h"

namespace whet {

/// A model that is open.
struct Opened {
  char hash[kHashBytes];
  whet_library library;
  whet_model* model;
  whet_pool* pool;  ///< null: the session runs on the model's own
  whet_session* session;
  bool used, wanted;
};

/// The models and the inputs of the last order. What the next one names again, with the same options, stays open.
class OpenModels {
 public:
  /// Opens what is not open and gives each model the inputs, unless the order only describes. False with an error of the
  /// model at hand.
  ///   files  those of the models, then those of the inputs; the caller closes them
  bool take(const Order& order, const int* files, whet_error& error) {
    at_hand_ = -1;
    return open_models(order, files, error) && take_inputs(order, files, error);
  }
  /// A model of the order, which is at hand from here on.
  Opened& take_up(std::uint64_t model) {
    at_hand_ = static_cast<int>(model);
    return opened_[place_[model]];
  }
  /// Its number; -1: none.
  int at_hand() const { return at_hand_; }

 private:
  /// An input's contents, mapped from its file.
  struct Input {
    char hash[kHashBytes];
    void* data;
    std::size_t bytes;
  };

  void close_model(Opened& model) {
    const whet_api* const api = model.library.api;
    if (model.session) api->session_destroy(model.session);
    if (model.pool) api->pool_destroy(model.pool);
    if (model.model) api->model_close(model.model);
    whet_library_close(&model.library);
    model = Opened{};
  }
  /// Where it is open, or a free place; kMostModels where there is neither.
  std::size_t find_model(const char* hash) const {
    std::size_t place = kMostModels;
    for (std::size_t i = 0; i < kMostModels; ++i) {
      if (opened_[i].used && std::memcmp(opened_[i].hash, hash, kHashBytes) == 0) return i;
      if (!opened_[i].used && place == kMostModels) place = i;
    }
    return place;
  }

  bool open_models(const Order& order, const int* files, whet_error& error) {
    const bool same_options = options_.view() == order.options;
    for (Opened& model : opened_) model.wanted = false;
    for (std::uint64_t i = 0; i < order.models && same_options; ++i)
      if (const std::size_t place = find_model(order.model_hash[i]); place < kMostModels) opened_[place].wanted = true;
    for (Opened& model : opened_)
      if (model.used && !model.wanted) close_model(model);
    options_.clear();
    options_.add(order.options);
    for (std::uint64_t i = 0; i < order.models; ++i) {
      place_[i] = find_model(order.model_hash[i]);
      Opened& model = take_up(i);
      if (model.used) continue;
      std::memcpy(model.hash, order.model_hash[i], kHashBytes);
      model.used = true;
      if (!open_model(model, files[i], order, error)) return close_model(model), false;
    }
    return true;
  }
  /// Under a path that no library which is open has: the loader knows libraries by their paths.
  bool open_model(Opened& model, int file, const Order& order, whet_error& error) {
    constexpr unsigned kMostDots = 1500;
    char path[2 * kMostDots + 64];
    std::size_t length = static_cast<std::size_t>(snprintf(path, 32, "/proc/self/fd/"));
    for (unsigned i = 0; i < libraries_; ++i) path[length++] = '.', path[length++] = '/';
    libraries_ = (libraries_ + 1) % kMostDots;
    snprintf(path + length, 32, "%d", file);
    if (whet_library_open(path, 0, &model.library, &error) != 0) return without_path(path, error);
    const whet_api& api = *model.library.api;
    if (WHET_HAS(&api, model_open_device) && api.model_open_device != nullptr)
      return whet_fail(&error, "runs on a GPU; a device elsewhere runs models for its processor alone") == 0;
    const whet_open_options open_options{order.map_weights ? 1u : 0u};
    if (api.model_open(&open_options, &model.model, &error) != 0) return false;
    if ((order.threads != 0 || order.core_count != 0 || !order.pin) && !make_pool(model, order, error)) return false;
    return api.session_create(model.model, model.pool, &model.session, &error) == 0;
  }
  bool make_pool(Opened& model, const Order& order, whet_error& error) {
    const whet_api& api = *model.library.api;
    std::uint32_t* const cores =
        static_cast<std::uint32_t*>(memory_or_end(std::malloc((order.core_count + 1) * sizeof(std::uint32_t))));
    std::memcpy(cores, order.cores, order.core_count * sizeof(std::uint32_t));
    whet_pool_options options{};
    options.threads = order.threads;
    if (options.threads == 0 && order.core_count != 0)
      options.threads = std::min(order.core_count, api.model_info(model.model)->tuned_threads);
    options.cores = order.core_count == 0 ? nullptr : cores;
    options.core_count = order.core_count;
    options.no_pin = !order.pin;
    const bool made = api.pool_create(&options, &model.pool, &error) == 0;
    std::free(cores);
    return made;
  }
  /// The file has another name where whet is. (The loader names it too.)
  static bool without_path(const char* path, whet_error& error) {
    const std::size_t bytes = std::strlen(path);
    while (std::strncmp(error.message, path, bytes) == 0 && std::strncmp(error.message + bytes, ": ", 2) == 0)
      std::memmove(error.message, error.message + bytes + 2, std::strlen(error.message + bytes + 2) + 1);
    return false;
  }

  bool take_inputs(const Order& order, const int* files, whet_error& error) {
    bool same = order.inputs == input_count_;
    for (std::uint64_t i = 0; same && i < order.inputs; ++i)
      same = std::memcmp(inputs_[i].hash, order.input_hash[i], kHashBytes) == 0;
    for (std::uint64_t i = 0; !same && i < order.inputs; ++i) {
      unmap(inputs_[i]);
      std::memcpy(inputs_[i].hash, order.input_hash[i], kHashBytes);
      map(files[order.models + i], inputs_[i]);
    }
    input_count_ = order.inputs;
    if (order.work == ModelWork::describe) return true;
    for (std::uint64_t i = 0; i < order.models; ++i)
      if (!give_inputs(take_up(i), error)) return false;
    return true;
  }
  static void map(int file, Input& input) {
    struct stat found;
    input.data = no_bytes_;
    input.bytes = fstat(file, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
    if (input.bytes == 0) return;
    void* const data = mmap(nullptr, input.bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    input.data = memory_or_end(data == MAP_FAILED ? nullptr : data);
  }
  static void unmap(Input& input) {
    if (input.bytes > 0) munmap(input.data, input.bytes);
    input = Input{};
  }
  bool give_inputs(Opened& model, whet_error& error) {
    const whet_api& api = *model.library.api;
    const std::uint32_t count = api.model_info(model.model)->inputs;
    if (count != input_count_)
      return whet_fail(&error, "the model has %u inputs; %u tensors are given", count,
                       static_cast<unsigned>(input_count_)) == 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const whet_tensor_info& info = *api.model_input(model.model, i);
      if (static_cast<std::uint64_t>(info.bytes) != inputs_[i].bytes)
        return whet_fail(&error, "input \"%s\" has %lld bytes; the tensor given has %llu", info.name,
                         static_cast<long long>(info.bytes), static_cast<unsigned long long>(inputs_[i].bytes)) == 0;
      if (api.session_set_input(model.session, i, inputs_[i].data, nullptr, &error) != 0) return false;
    }
    return true;
  }

  int at_hand_ = -1;
  unsigned libraries_ = 0;  ///< opened so far
  GrowingBytes options_;    ///< of the last order
  Opened opened_[kMostModels] = {};
  std::size_t place_[kMostModels] = {};  ///< of the order's models
  Input inputs_[kMostModelInputs] = {};
  std::uint64_t input_count_ = 0;
  alignas(64) static inline char no_bytes_[64];  ///< where an input without bytes lies
};

}  // namespace whet
