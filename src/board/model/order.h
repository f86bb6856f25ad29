#pragma once

#include "board/model/bytes.h"
#include "device/protocol/cpu/model_messages.h"

namespace whet {

constexpr std::uint64_t kHashBytes = 64;

/// An order, whose texts and lists lie in its payload.
struct Order {
  std::uint64_t models = 0, inputs = 0;
  const char* model_hash[kMostModels];
  const char* input_hash[kMostModelInputs];
  std::string_view options;  ///< threads to map_weights as they came, to compare
  std::uint32_t threads = 0, core_count = 0;
  const char* cores = nullptr;
  bool pin = true, map_weights = false;
  ModelWork work{};
  double warmup_seconds = 0, timed_seconds = 0;
  std::uint32_t warmup_runs = 0, runs = 0;
};

inline void take_hashes(Unpacker& u, std::uint64_t most, const char** hashes, std::uint64_t& count) {
  u.get(count);
  u.require(count <= most);
  for (std::uint64_t i = 0; i < count && u.ok(); ++i) {
    const auto hash = u.get<std::string_view>();
    u.require(hash.size() == kHashBytes);
    hashes[i] = hash.data();
    u.get<std::uint64_t>();  // bytes
  }
}
/// Garbage gives false.
inline bool read_order(std::string_view payload, Order& order) {
  Unpacker u(payload);
  u.get<double>();  // the limit, which whet-device keeps
  take_hashes(u, kMostModels, order.model_hash, order.models);
  take_hashes(u, kMostModelInputs, order.input_hash, order.inputs);
  const std::size_t left = u.left();
  u.get(order.threads);
  const auto cores = u.get<std::uint64_t>();
  u.require(cores <= payload.size());
  order.core_count = static_cast<std::uint32_t>(cores);
  order.cores = u.take(cores * sizeof(std::uint32_t)).data();
  u.get(order.pin);
  u.get(order.map_weights);
  order.options = {payload.data() + payload.size() - left, left - u.left()};
  u.get(order.work);
  u.get(order.warmup_seconds);
  u.get(order.warmup_runs);
  u.get(order.timed_seconds);
  u.get(order.runs);
  return u.done();
}

}  // namespace whet
