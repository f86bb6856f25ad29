#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "device/local/zygote.h"
#include "measure/build.h"

namespace whet {

struct BuilderLimits {
  double timeout = 15;                           ///< seconds of building, waiting excluded
  std::int64_t memory = std::int64_t{2} << 30;   ///< resident bytes that end a builder
  std::int64_t recycle = std::int64_t{1} << 30;  ///< resident bytes at which a builder is replaced after its job
};

/// Builders that work side by side. Whatever a request does to its builder costs that request alone. Several threads may
/// call it: whoever waits longest for a builder gets the next one.
class BuilderPool {
 public:
  ///   builders  how many; 0: one a core that this process may use
  /// The processes that `builder` describes are forked from the zygote, each when it is first needed.
  BuilderPool(Zygote&, int builders, BuilderLimits limits = {}, const Life& builder = kBuilder);
  ~BuilderPool();
  BuilderPool(const BuilderPool&) = delete;

  /// One result a request, in order. When `interrupted` (may be empty; asked by several threads) turns true, what is not
  /// yet begun and what takes long gets device_lost.
  std::vector<BuildResult> build(const std::vector<BuildRequest>&, const std::function<bool()>& interrupted = {});

  int size() const;
  std::int64_t started() const { return started_; }

 private:
  struct Builder;
  class Job;

  Builder& take();
  void give_back(Builder&);

  Zygote& zygote_;
  const Life& builder_;
  BuilderLimits limits_;
  std::vector<Builder> builders_;
  std::atomic<std::int64_t> started_ = 0;
  std::mutex mutex_;                       ///< of all below
  std::vector<Builder*> free_;             ///< the one that worked last is the last
  std::int64_t asked_ = 0, answered_ = 0;  ///< how often `take` was
  std::condition_variable freed_;
};

}  // namespace whet
