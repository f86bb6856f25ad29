#include "codegen/cpu/byte_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "compute/scalar.h"

namespace whet {
namespace {

constexpr std::int64_t kBytes = 4;

/// Where a store writes: `lanes` elements from `at.constant` on, `at.lane_stride` apart.
struct Place {
  Linear at;
  int lanes = 1;
};

class WordFinder {
 public:
  WordFinder(const std::vector<const Store*>& run, Analysis& analysis, const Program& program)
      : run_(run), analysis_(analysis), program_(program) {}

  ByteWords find() {
    for (std::size_t k = 0; k < run_.size(); ++k) add(k);
    ByteWords words;
    for (const auto& [key, stores] : open_) {
      if (std::count(stores.begin(), stores.end(), kNone) > 0 || is_read(std::get<BufferId>(key))) continue;
      const auto [first, last] = std::minmax_element(stores.begin(), stores.end());
      if (!stands_alone(stores, *first, *last)) continue;
      const Place place = *place_of(*run_[stores[0]]);
      for (std::size_t byte = 0; byte < stores.size(); ++byte)
        words.of[run_[stores[byte]]] = {words.all.size(), static_cast<int>(byte)};
      words.all.push_back({place.at, place.lanes, run_[*last]});
    }
    return words;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  using Stores = std::array<std::size_t, kBytes>;                      ///< by byte, places in the run
  using Key = std::tuple<BufferId, Linear::Terms, std::int64_t, int>;  ///< word of the first lane, lanes

  const ExprInfo& info(const Expr& e) { return analysis_.table()[analysis_.table().intern(e)]; }

  std::optional<Place> place_of(const Store& store) {
    const ExprInfo& index = info(store.index[0]);
    if (store.index.size() != 1 || !index.is_linear) return std::nullopt;
    return Place{index.linear, std::max(store.index[0]->lanes, store.value->lanes)};
  }

  void add(std::size_t k) {
    const Store& store = *run_[k];
    const Buffer& buffer = program_.buffer(store.buffer);
    const std::optional<Place> place = place_of(store);
    const bool bytes = size_of(buffer.dtype) == 1 && buffer.dtype != DType::boolean && buffer.scope != Scope::registers;
    if (!bytes || store.mask.defined() || !place) return;
    const bool apart = place->lanes == 1 || place->at.lane_stride == kBytes;
    const bool by_words = std::all_of(place->at.terms.begin(), place->at.terms.end(),
                                      [](const auto& term) { return term.second % kBytes == 0; });
    if (!apart || !by_words) return;
    const std::int64_t word = (place->at.constant - floor_mod(place->at.constant, kBytes)) / kBytes,
                       byte = floor_mod(place->at.constant, kBytes);
    Stores none;
    none.fill(kNone);
    auto& stores = open_.try_emplace(Key{store.buffer, place->at.terms, word, place->lanes}, none).first->second;
    std::size_t& slot = stores[static_cast<std::size_t>(byte)];
    if (slot != kNone) twice_.insert(store.buffer);
    slot = k;
  }

  /// By the run, or written twice.
  bool is_read(BufferId buffer) const {
    if (twice_.contains(buffer)) return true;
    return std::any_of(run_.begin(), run_.end(), [&](const Store* store) {
      bool reads = false;
      for_each(store->value, [&](const Expr& e) {
        const Load* load = std::get_if<Load>(&e->kind);
        reads = reads || (load && load->source.value == buffer.value);
      });
      return reads;
    });
  }

  /// Whether what the run stores to the buffer between the first and the last of the four is elsewhere.
  bool stands_alone(const Stores& stores, std::size_t first, std::size_t last) {
    const Place own = *place_of(*run_[stores[0]]);
    for (std::size_t k = first; k <= last; ++k) {
      if (run_[k]->buffer != run_[first]->buffer || std::count(stores.begin(), stores.end(), k) > 0) continue;
      const std::optional<Place> other = place_of(*run_[k]);
      if (!other || other->at.terms != own.at.terms) return false;
      const std::int64_t begin = own.at.constant, end = begin + own.lanes * kBytes,
                         other_end =
                             other->at.constant + (other->lanes - 1) * std::max<std::int64_t>(other->at.lane_stride, 1);
      if (other->at.constant < end && other_end >= begin) return false;
    }
    return true;
  }

  const std::vector<const Store*>& run_;
  Analysis& analysis_;
  const Program& program_;
  std::map<Key, Stores> open_;
  std::set<BufferId> twice_;
};

}  // namespace

ByteWords find_byte_words(const std::vector<const Store*>& run, Analysis& analysis, const Program& program) {
  return WordFinder(run, analysis, program).find();
}

}  // namespace whet
