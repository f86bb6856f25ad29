// Running a model that whet compiled, from C++: thin owners over whet/model.h. Header only; C++17; link with -ldl where
// the C library asks for it.
//
//   whet::rt::Model model("model.so");
//   whet::rt::Session session(model);
//   session.set_input(0, image.data());
//   session.run();
//   const float* scores = session.output<float>(0);
//
// What fails throws whet::rt::Error with the sentence. Sessions keep their model and their pool alive, these the
// library.
#ifndef WHET_MODEL_HPP
#define WHET_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "whet/model.h"

namespace whet::rt {

class Error : public std::runtime_error {
 public:
  explicit Error(const whet_error& error) : std::runtime_error(error.message) {}
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

inline void check(int result, const whet_error& error) {
  if (result != 0) throw Error(error);
}

/// An open compiled model. Copies share it.
class Model {
 public:
  /// flags: 0 or WHET_SKIP_CHECKSUM.
  explicit Model(const std::string& path, const whet_open_options& options = {}, std::uint32_t flags = 0)
      : Model(std::make_shared<Library>(path, flags), options) {}
  /// A library that is in memory: see whet_library_open_memory.
  static Model from_memory(const void* bytes, std::size_t size, const whet_open_options& options = {},
                           std::uint32_t flags = 0) {
    return Model(std::make_shared<Library>(bytes, size, flags), options);
  }
  /// A library whose weights are in a file of their own: see model_open_from.
  static Model with_weights(const std::string& path, const std::string& weights, const whet_open_options& options = {},
                            std::uint32_t flags = 0) {
    whet_open_source source{};
    source.struct_bytes = sizeof source;
    source.flags = flags;
    source.weights_path = weights.c_str();
    return Model(std::make_shared<Library>(path, flags), options, source);
  }
  /// On a device, for which the model must be compiled; `struct_bytes` is filled in.
  Model(const std::string& path, whet_device_options device, std::uint32_t flags = 0)
      : library_(std::make_shared<Library>(path, flags)) {
    whet_error error;
    whet_model* model = nullptr;
    if (!WHET_HAS(&api(), model_open_device) || api().model_open_device == nullptr)
      throw Error(path + ": is compiled for the CPU; expected a device");
    device.struct_bytes = sizeof device;
    check(api().model_open_device(nullptr, &device, &model, &error), error);
    own(model);
  }

  const whet_api& api() const { return *library_->library.api; }
  whet_model* get() const { return model_.get(); }
  const whet_model_info& info() const { return *api().model_info(get()); }
  /// Null for a model that runs on the CPU.
  const whet_device_info* device() const {
    return WHET_HAS(&api(), model_device) ? api().model_device(get()) : nullptr;
  }
  /// Sizes that shapes may have; none where the library is for one size.
  std::vector<whet_size_info> sizes() const {
    std::vector<whet_size_info> sizes;
    for (std::uint32_t k = 0; has_sizes() && k < api().model_size_count(get()); ++k)
      sizes.push_back(*api().model_size(get(), k));
    return sizes;
  }
  bool has_sizes() const { return WHET_HAS(&api(), session_output_info); }
  std::uint32_t inputs() const { return info().inputs; }
  std::uint32_t outputs() const { return info().outputs; }
  const whet_tensor_info& input(std::uint32_t i) const { return known("input", i, api().model_input(get(), i)); }
  const whet_tensor_info& output(std::uint32_t i) const { return known("output", i, api().model_output(get(), i)); }

 private:
  friend class Pool;
  friend class Session;
  struct Library {
    whet_library library{};
    Library(const std::string& path, std::uint32_t flags) {
      whet_error error;
      check(whet_library_open(path.c_str(), flags, &library, &error), error);
    }
    Library(const void* bytes, std::size_t size, std::uint32_t flags) {
      whet_error error;
      check(whet_library_open_memory(bytes, size, flags, &library, &error), error);
    }
    ~Library() { whet_library_close(&library); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
  };
  Model(std::shared_ptr<Library> library, const whet_open_options& options) : library_(std::move(library)) {
    whet_error error;
    whet_model* model = nullptr;
    check(api().model_open(&options, &model, &error), error);
    own(model);
  }
  Model(std::shared_ptr<Library> library, const whet_open_options& options, const whet_open_source& source)
      : library_(std::move(library)) {
    whet_error error;
    whet_model* model = nullptr;
    if (!WHET_HAS(&api(), model_open_from) || api().model_open_from == nullptr)
      throw Error("the library has its weights inside; whet compile --weights-file makes one that takes others");
    check(api().model_open_from(&options, &source, &model, &error), error);
    own(model);
  }
  void own(whet_model* model) {
    model_.reset(model, [library = library_](whet_model* m) { library->library.api->model_close(m); });
  }
  static const whet_tensor_info& known(const char* what, std::uint32_t i, const whet_tensor_info* info) {
    if (info == nullptr) throw Error("the model has no " + std::string(what) + " " + std::to_string(i));
    return *info;
  }

  std::shared_ptr<Library> library_;
  std::shared_ptr<whet_model> model_;
};

/// Threads that models share. Copies share it. `maker` is any open model: its library brings the code.
class Pool {
 public:
  explicit Pool(const Model& maker, const whet_pool_options& options = {}) {
    whet_error error;
    whet_pool* pool = nullptr;
    check(maker.api().pool_create(&options, &pool, &error), error);
    pool_.reset(pool, [library = maker.library_](whet_pool* p) { library->library.api->pool_destroy(p); });
    info_ = maker.api().pool_info(pool);
  }

  whet_pool* get() const { return pool_.get(); }
  const whet_pool_info& info() const { return *info_; }

 private:
  std::shared_ptr<whet_pool> pool_;
  const whet_pool_info* info_;
};

/// Inputs, outputs and activations of one user of a model; one thread at a time.
class Session {
 public:
  /// On the model's own pool, of default size.
  explicit Session(Model model) : Session(std::move(model), nullptr) {}
  Session(Model model, const Pool& pool) : Session(std::move(model), std::make_shared<Pool>(pool)) {}

  const Model& model() const { return model_; }
  whet_session* get() const { return session_.get(); }
  const whet_pool_info& pool_info() const { return *api().pool_info(api().session_pool(get())); }
  /// How its threads agree with what the model was tuned for; "" where they do.
  const char* note() const { return api().session_note(get()); }

  /// One shape an input; an empty one, and an extent of -1, follow from the others. From now on inputs and outputs have the
  /// shapes that follow. Of a library for several sizes, as the next.
  void set_shapes(const std::vector<std::vector<std::int64_t>>& shapes) {
    whet_error error;
    check(with_sizes().session_set_shapes(get(), pointers(shapes).data(), &error), error);
  }
  /// Memory for these shapes and all that are not larger; without shapes for all of the model.
  void reserve() {
    whet_error error;
    check(with_sizes().session_reserve(get(), nullptr, &error), error);
  }
  void reserve(const std::vector<std::vector<std::int64_t>>& shapes) {
    whet_error error;
    check(with_sizes().session_reserve(get(), pointers(shapes).data(), &error), error);
  }
  /// At the shapes that are set.
  const whet_tensor_info& input_info(std::uint32_t i) const {
    return model_.has_sizes() ? Model::known("input", i, api().session_input_info(get(), i)) : model_.input(i);
  }
  const whet_tensor_info& output_info(std::uint32_t i) const {
    return model_.has_sizes() ? Model::known("output", i, api().session_output_info(get(), i)) : model_.output(i);
  }
  std::vector<std::int64_t> output_shape(std::uint32_t i) const {
    const whet_tensor_info& info = output_info(i);
    return {info.shape, info.shape + info.rank};
  }

  /// The memory stays the caller's and is read at every run; strides in bytes, or null for contiguous row-major.
  void set_input(std::uint32_t i, const void* data, const std::int64_t* strides = nullptr) {
    whet_error error;
    check(api().session_set_input(get(), i, data, strides, &error), error);
  }
  void set_input(std::uint32_t i, const whet_dltensor& tensor) {
    whet_error error;
    check(api().session_set_input_dlpack(get(), i, &tensor, &error), error);
  }
  /// Null: the session's own memory again.
  void bind_output(std::uint32_t i, void* data) {
    whet_error error;
    check(api().session_bind_output(get(), i, data, &error), error);
  }
  /// As the three below: of a model that runs on a device.
  void bind_output(std::uint32_t i, const whet_dltensor& tensor) {
    whet_error error;
    check(on_device().session_bind_output_dlpack(get(), i, &tensor, &error), error);
  }
  /// A CUstream; null: the session's own.
  void set_stream(void* stream) {
    whet_error error;
    check(on_device().session_set_stream(get(), stream, &error), error);
  }
  void enqueue() {
    whet_error error;
    check(on_device().session_enqueue(get(), &error), error);
  }
  void wait() {
    whet_error error;
    check(on_device().session_wait(get(), &error), error);
  }
  void run() {
    whet_error error;
    check(api().session_run(get(), &error), error);
  }
  /// Of the last run; valid until the next.
  template <typename T = void>
  const T* output(std::uint32_t i) const {
    return static_cast<const T*>(api().session_output(get(), i));
  }
  whet_dltensor output_dlpack(std::uint32_t i) const {
    whet_error error;
    whet_dltensor tensor;
    check(api().session_output_dlpack(get(), i, &tensor, &error), error);
    return tensor;
  }
  void set_profiling(bool on) { api().session_set_profiling(get(), on); }
  whet_profile profile() const {
    whet_profile profile;
    api().session_profile(get(), &profile);
    return profile;
  }

 private:
  Session(Model model, std::shared_ptr<Pool> pool) : model_(std::move(model)), pool_(std::move(pool)) {
    whet_error error;
    whet_session* session = nullptr;
    check(api().session_create(model_.get(), pool_ ? pool_->get() : nullptr, &session, &error), error);
    session_ = std::unique_ptr<whet_session, Destroy>(session, Destroy{&api()});
  }
  const whet_api& api() const { return model_.api(); }
  const whet_api& on_device() const {
    if (!WHET_HAS(&api(), session_wait) || api().model_open_device == nullptr)
      throw Error("the model is compiled for the CPU; expected a device");
    return api();
  }
  const whet_api& with_sizes() const {
    if (!model_.has_sizes()) throw Error("the model is compiled for one size; expected a library for several");
    return api();
  }
  /// One an input: an empty shape, and one that is not given, is null. A scalar has no extents to give.
  std::vector<const std::int64_t*> pointers(const std::vector<std::vector<std::int64_t>>& shapes) const {
    std::vector<const std::int64_t*> pointers(model_.inputs(), nullptr);
    if (shapes.size() > pointers.size())
      throw Error(std::to_string(shapes.size()) + " shapes are given; the model has " +
                  std::to_string(pointers.size()) + " inputs");
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const whet_tensor_info& input = model_.input(static_cast<std::uint32_t>(i));
      if (!shapes[i].empty() && shapes[i].size() != input.rank)
        throw Error("input \"" + std::string(input.name) + "\" has " + std::to_string(input.rank) + " dimensions; " +
                    std::to_string(shapes[i].size()) + " extents are given");
      if (!shapes[i].empty()) pointers[i] = shapes[i].data();
    }
    return pointers;
  }
  struct Destroy {
    const whet_api* api;
    void operator()(whet_session* session) const { api->session_destroy(session); }
  };

  Model model_;
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<whet_session, Destroy> session_{nullptr, Destroy{nullptr}};
};

}  // namespace whet::rt

#endif
