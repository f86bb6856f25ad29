#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/anchor.h"
#include "target/target.h"
#include "trial/candidate.h"

namespace whet {

/// Where entries of a record base were measured.
struct BaseOrigin {
  std::string network;   ///< "resnet50", "resnet50 batch 8"
  std::string target;    ///< text form, with the number of threads
  std::string machine;   ///< the processor's model, for people; never the name of a host
  int codegen = 0;       ///< version of the code generator
  std::string whet, at;  ///< version of the program, date in UTC
  bool foreign = false;  ///< code for another processor than its own taught it: haswell's on a Zen
  friend auto operator<=>(const BaseOrigin&, const BaseOrigin&) = default;
};

/// A schedule that was among the best of a task.
struct BaseEntry {
  std::size_t origin = 0;  ///< place in `RecordBase::origins`
  Candidate candidate;
  /// Of the axes that its decisions cut there, by the decision's name (DesignSpace::refit takes them).
  std::map<std::string, std::int64_t> extents;
  /// The default schedule's time over this one's, measured alternately; 1: the default is the best there is.
  double gain = 1;
  friend bool operator==(const BaseEntry&, const BaseEntry&) = default;
};

/// A task of the networks that taught the base, and its best schedules.
struct BaseTask {
  Anchor anchor;
  /// Of a chain (several groups as one kernel): the sum of its groups' times in the network, each by its best kernel, over the
  /// chain's by its best one; 0: it is no chain.
  double over_parts = 0;
  std::vector<BaseEntry> entries;  ///< by origin, the greatest gain first
  friend bool operator==(const BaseTask&, const BaseTask&) = default;
};

/// An entry and how far its task is from the wanted one.
struct NearEntry {
  const BaseTask* task = nullptr;  ///< both live as long as the base
  const BaseEntry* entry = nullptr;
  /// `anchor_distance`, and 1 more for another processor, kind of core and code generator each, 0.5 for each doubling of threads.
  double distance = 0;
  /// It was measured on this processor (or on one whose schedules were measured here), by its own code, kind of core and number of
  /// threads, with code of today's generator. Other entries are hints: they are tried, and never compiled unmeasured.
  bool own = true;
};

/// Read-only: what was best for the tasks of many networks, found by anchor (docs/formats/base.md). Several threads may read one.
class RecordBase {
 public:
  /// More than any base has: shipped ones have a few megabytes, which packages compress.
  static constexpr std::size_t kMostBytes = 64 << 20;

  RecordBase() = default;
  /// Equal origins become one, and so do tasks of equal anchors and `over_parts`: their entries stand side by side, equal ones once.
  /// Needs: each entry's origin is one of these.
  RecordBase(std::string name, std::string made, std::vector<BaseOrigin>, std::vector<BaseTask>);
  /// Reads the lines of a base from the bytes of a record file, which notes call `what`. A line that cannot be used costs that line.
  /// Errors: it holds no base; its format is newer; it is larger than `kMostBytes`.
  static Result<RecordBase> parse(std::string_view text, const std::string& what);
  /// An empty base with this note: there is one, and nothing of it can be used.
  static RecordBase unusable(std::string note);
  /// The lines of a file, from which `parse` gives an equal base.
  std::string text() const;

  /// All that these know, by the first one's name and the newest date. Each origin keeps its entries, so that
  /// `joined({a, b})` without b's networks is a.
  static RecordBase joined(const std::vector<const RecordBase*>&);
  /// What other networks taught: those that are not called `network`, alone or with a batch ("resnet50 batch 8").
  RecordBase without(std::string_view network) const;

  /// "cpu-512 2026.12 (41 networks)"; "" of an empty one
  std::string name() const;
  const std::string& short_name() const { return name_; }  ///< "cpu-512"
  const std::string& made() const { return made_; }        ///< year and month of its newest records, "2026.12"
  bool empty() const { return tasks_.empty(); }
  const std::vector<BaseOrigin>& origins() const { return origins_; }
  const std::vector<BaseTask>& tasks() const { return tasks_; }
  /// A sentence for each thing that was skipped.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Some of its entries are for vectors as wide as the target's.
  bool serves(const Target&) const;
  /// Entries of tasks of this kind for vectors as wide as the target's, at most `most`: own ones first, so that others
  /// take the places that these leave; of both the nearest first, and entries of equal distance in the order of their gain.
  std::vector<NearEntry> near(const Anchor&, const Target&, std::size_t most) const;

 private:
  /// Gives the place of each among `origins_`.
  std::vector<std::size_t> add_origins(std::vector<BaseOrigin>);

  std::string name_, made_;
  std::vector<BaseOrigin> origins_;
  std::vector<std::optional<Target>> targets_;  ///< of the origins; nothing where the text is none of this whet's
  std::vector<BaseTask> tasks_;                 ///< in the order of their anchors
  std::vector<std::string> notes_;
};

}  // namespace whet
