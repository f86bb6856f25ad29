// Classifies an image with a compiled network, by the C++ wrapper: the five best classes and how sure the network is.
//
//   classify model.so image.raw      image.raw: the model's input as raw floats, as many as it takes ("-": a made-up
//   one) c++ -std=c++17 -Iinclude classify.cc -ldl

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "whet/model.hpp"

namespace {

std::vector<float> read_image(const std::string& path, std::size_t size) {
  std::vector<float> image(size);
  if (path == "-") {
    for (std::size_t i = 0; i < size; ++i) image[i] = std::sin(0.01f * static_cast<float>(i));
    return image;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(image.data()), static_cast<std::streamsize>(size * sizeof(float)))) {
    throw whet::rt::Error(path + ": cannot read " + std::to_string(size) + " floats, as many as the model's input has");
  }
  return image;
}

std::vector<double> softmax(const float* scores, std::size_t count) {
  const double most = *std::max_element(scores, scores + count);
  std::vector<double> shares(count);
  for (std::size_t i = 0; i < count; ++i) shares[i] = std::exp(scores[i] - most);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

void classify(const char* path, const char* image_path) {
  const whet::rt::Model model(path);
  const whet_tensor_info& input = model.input(0);
  const whet_tensor_info& output = model.output(0);
  if (model.inputs() != 1 || input.dtype != WHET_F32 || output.dtype != WHET_F32) {
    throw whet::rt::Error("expected a model with one input and scores of type f32");
  }
  const std::vector<float> image = read_image(image_path, static_cast<std::size_t>(input.bytes) / sizeof(float));
  whet::rt::Session session(model);
  session.set_input(0, image.data());
  session.run();

  const std::size_t classes = static_cast<std::size_t>(output.bytes) / sizeof(float);
  const std::vector<double> shares = softmax(session.output<float>(0), classes);
  std::vector<std::size_t> order(classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min<std::size_t>(5, classes);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  for (std::size_t i = 0; i < shown; ++i) std::printf("class %4zu  %6.2f%%\n", order[i], 100 * shares[order[i]]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s model.so image.raw\n", argv[0]);
    return 2;
  }
  try {
    classify(argv[1], argv[2]);
  } catch (const whet::rt::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
