#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "space/space.h"

namespace whet {

/// The legal points of one sketch. Decisions that constraints connect form a part; the combinations of a part
/// are looked through once and listed, so that drawing, counting and numbering them never fails. Parts of more than
/// kMostListed combinations are drawn by trying, and counted by an estimate. A sketch with rows is one part, and these are its list.
class Legal {
 public:
  static constexpr std::int64_t kMostListed = 1 << 15;
  /// `sketch` must outlive this object.
  explicit Legal(const Sketch& sketch);

  const SpaceSize& size() const { return size_; }
  bool allows(const Point&) const;
  /// Like `allows`, for a legal point in which only `decision` was changed.
  bool allows_change(const Point&, std::size_t decision) const;
  Point sample(Rng&) const;
  std::vector<Point> neighbours(const Point&) const;
  std::optional<Point> mutate(const Point&, Rng&) const;
  /// Returns the legal point with the least sum of costs, or one near it where a part has too many combinations to try
  /// them all; nothing where none is found. `cost[d][o]` is the distance of option `o` of decision `d` from the wanted one.
  std::optional<Point> nearest(const std::vector<std::vector<double>>& cost, Rng&) const;

  std::int64_t grid_size() const { return grid_; }
  std::optional<Point> at(std::int64_t number) const;

 private:
  struct Part {
    std::vector<std::size_t> decisions;
    std::vector<std::vector<std::size_t>> asked;  ///< constraints, by the decision that completes them
    std::int64_t combinations = 1;
    bool listed = false;
    std::vector<bool> legal;            ///< by number, where listed; empty for rows
    std::vector<std::int64_t> numbers;  ///< of the legal ones in order, where listed
    std::int64_t count = 0;
  };
  void connect();
  void take_rows();
  void list(Part&);
  void estimate(Part&);
  std::int64_t options(std::size_t decision) const;
  /// The place of a part's combination among all of the part's, the first decision slowest.
  std::int64_t number_of(const Part&, const Point&) const;
  void set(const Part&, std::int64_t number, Point&) const;
  bool allows(const Part&, const Point&) const;
  class Trial;
  bool holds(const Part&, const Point&) const;
  void draw(const Part&, Point&, Rng&) const;
  bool bring_near(const Part&, const std::vector<std::vector<double>>& cost, Point&, Rng&) const;

  const Sketch& sketch_;
  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;  ///< by decision
  std::vector<std::size_t> open_;     ///< decisions with more than one option
  SpaceSize size_;
  std::int64_t grid_ = 1;
};

}  // namespace whet
