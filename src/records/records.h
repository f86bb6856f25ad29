#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "records/memory.h"
#include "target/target.h"
#include "tensor/shape.h"
#include "trial/error.h"
#include "trial/outcome.h"
#include "trial/plan.h"
#include "trial/ranged.h"
#include "trial/value_range.h"

namespace whet {

/// Which records of the emulated device count. Its times are estimates, and never rank beside measured ones.
enum class EmulatedRecords : std::uint8_t {
  left_out,
  alone,  ///< and no others
  too,    ///< behind all others
};

/// The record that a task should run by, and whether it was made for this target.
struct RecordChoice {
  const Record* record = nullptr;  ///< valid as long as the Records it came from
  bool exact = true;               ///< measured for this ISA, thread count and kind of core
  std::string reason;              ///< a sentence that names the differences (the time is an estimate then), or empty
};

/// Hashes of a user's tensors that tasks are measured with, by the tasks' keys.
using InputHashes = std::map<std::string, std::string>;

/// Measured results in memory, found by task. Several threads may call the const members at the same time, as long as
/// none adds a record.
class Records {
 public:
  Records() = default;
  explicit Records(std::vector<Record>);
  Records(Records&&) noexcept = default;
  Records& operator=(Records&&) = default;

  /// References to earlier records stay valid.
  const Record& add(Record&&);
  const Record& add(const Record& record) { return add(Record(record)); }
  void add(Plan plan) { plans_.push_back(std::move(plan)); }
  void add(LayerError error) { errors_.push_back(std::move(error)); }
  void add(RangesOnSamples ranges) { values_.push_back(std::move(ranges)); }
  /// In the order of their lines.
  const std::vector<Plan>& plans() const { return plans_; }
  /// The last plan of a fused graph (its hash) for exactly this target that rounds nothing; null where there is none.
  const Plan* plan_for(std::string_view graph, std::string_view target) const;
  /// The same of plans that round activations and weights, chosen layer by layer or of one type: as PlanPrecision::uniform has it.
  const Plan* lowered_plan_for(std::string_view graph, std::string_view target, std::string_view uniform = "") const;
  /// The last of these, of whichever kind.
  const Plan* last_lowered_plan_for(std::string_view graph, std::string_view target) const;
  /// Errors of layers, in the order of their lines.
  const std::vector<LayerError>& errors() const { return errors_; }
  /// The last ranges of the values of a network (its hash) with these weights on these samples, for exactly this target; null where there
  /// are none.
  const RangesOnSamples* ranges_on_samples(std::string_view graph, std::string_view weights, std::string_view samples,
                                           std::string_view target) const;
  /// The same of all networks, in the order of their lines.
  const std::vector<RangesOnSamples>& all_ranges_on_samples() const { return values_; }
  /// Times of kernels for ranges of sizes, which `of`, `best` and `ranking` never see.
  /// References to earlier ones stay valid.
  void add(RangedRecord record) { ranged_.push_back(std::move(record)); }
  void add(NetworkAtSizes network) { networks_.push_back(std::move(network)); }
  /// In the order of their lines.
  const std::deque<RangedRecord>& ranged() const { return ranged_; }
  const std::deque<NetworkAtSizes>& networks() const { return networks_; }
  /// The figures of a task for all its sizes (range_id) on exactly this target that compare with each other: of the newest code
  /// generator, of one cache mode (network before warm before cold) and of the placement of the last line, each schedule at each size
  /// with its last line. Failures are among them.
  std::vector<const RangedRecord*> ranged_of(std::string_view range, const Target& target) const;
  /// The last times of a network (its hash) with these ranges for exactly this target; null where there are none.
  const NetworkAtSizes* network_at_sizes(std::string_view graph, std::string_view ranges,
                                         std::string_view target) const;
  /// From now on `of`, `best` and `ranking` see these. At first the emulated device's are left out.
  void count(EmulatedRecords which) { emulated_ = which, found_->usable.clear(); }
  /// From now on `of`, `best` and `ranking` see, of a task that has a hash here, the records with this hash alone, and of other tasks those
  /// that were measured with inputs from a seed. Nothing, as at first: records of any inputs.
  void count_inputs(std::optional<InputHashes> hashes);
  /// Hashes of inputs that records of these tasks have and that do not count, each once.
  std::vector<std::string> other_inputs(const std::vector<std::string>& keys) const;
  /// From now on times of other GPUs than those of this name are estimates: GPUs of one target differ in memory and clocks
  /// (H100 and H200). "": every GPU's count. Hosts are not told apart so.
  void prefer_device(std::string name) { device_ = std::move(name); }
  const std::pmr::deque<Record>& all() const { return kept_->records; }
  std::size_t size() const { return kept_->records.size(); }
  /// The keys of all tasks, each once, in the order in which they first appear.
  const std::vector<std::string>& keys() const { return keys_; }
  /// All records of a task that count, in order of time.
  std::vector<const Record*> of(std::string_view key) const;

  /// The fastest schedule of the task `key` for `target`, for an output that is a part of a tensor of the shape
  /// `within` (empty: the output is a whole tensor).
  /// Exact matches come first. Without one, `best` chooses the nearest record that can run there (same width of
  /// vectors; the same ISA, then the kind of core, then the nearest thread count preferred), and a sentence names the
  /// difference.
  /// A time belongs to a placement of the processors (trial/placement.h). Times of others than the one at hand (placements_at_hand.h) come
  /// behind its own, and a schedule counts with its last time in it, where it has one.
  /// Never chosen: schedules for a unit of tiles that the target lacks; schedules whose last trial failed, as this part on this target too, and those to which any record
  /// attributes wrong answers.
  /// Times of another cache mode, of another codegen version or within another tensor are never compared with each
  /// other: newer codegen comes before older, network before warm before cold, `within` before a whole tensor before
  /// other parts.
  ///   accepted  which records may be chosen at all; empty: any
  std::optional<RecordChoice> best(std::string_view key, const Shape& within, const Target& target,
                                   const std::function<bool(const Record&)>& accepted = {}) const;
  /// All records of exactly this target and device among which `best` may choose, the best first.
  std::vector<const Record*> ranking(std::string_view key, const Shape& within, const Target& target) const;

 private:
  struct Usable {
    const Record* record;
    bool elsewhere;  ///< its time is of another placement than the one at hand
  };
  using List = std::vector<Usable>;
  /// What was found of each task, until another record of it comes.
  struct Found {
    std::mutex mutex;
    std::map<std::string, std::map<Shape, std::shared_ptr<const List>>, std::less<>> usable;  ///< by key and part
  };

  bool is_of_other_device(const Record&) const;
  /// Whether records with these inputs count for the task, whose key is canonical.
  bool counts_inputs(const std::string& key, const Record&) const;
  List find_usable(const std::string& key, const Shape& within) const;
  std::shared_ptr<const List> usable(std::string_view key, const Shape& within) const;

  std::string device_;
  std::optional<InputHashes> inputs_;  ///< by canonical key
  EmulatedRecords emulated_ = EmulatedRecords::left_out;
  /// Records side by side: a file may have 100,000.
  struct Kept {
    LargeMemory large;
    std::pmr::monotonic_buffer_resource memory{&large};
    std::pmr::deque<Record> records{&memory};
  };
  std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
  std::vector<Plan> plans_;
  std::deque<RangedRecord> ranged_;
  std::deque<NetworkAtSizes> networks_;
  std::vector<LayerError> errors_;
  std::vector<RangesOnSamples> values_;
  /// Texts are found without a copy of them.
  struct HashOfText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::vector<std::size_t>, HashOfText, std::equal_to<>> by_key_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::optional<Target>> targets_;  ///< by text; nothing where it is no target
  std::unique_ptr<Found> found_ = std::make_unique<Found>();
};

}  // namespace whet
