#include "cost/gpu/nest.h"

#include <algorithm>
#include <cmath>

#include "compute/round.h"
#include "cost/gpu/arithmetic.h"
#include "cost/gpu/lanes.h"
#include "cost/gpu/threads.h"
#include "cost/nest.h"
#include "program/swizzle.h"
#include "schedule/online.h"
#include "schedule/pipeline.h"

namespace whet {
namespace {

constexpr double kPassBytes = 128, kWordBytes = 4;
constexpr std::size_t kBanks = 32;
/// Of the sums of a warp a lane has two neighbours of one of eight rows (lower/gpu/spread_warps.h).
constexpr double kOfLane = 2, kRowsOfWarp = 8, kLanesOfRow = 4;
/// Exchanges that a meeting of warps in block memory takes as long as.
constexpr double kMeeting = 3;
/// What a block keeps of global memory near its SM between two uses.
constexpr double kNearBytes = 64 << 10;

bool is_thread(LoopKind kind) { return kind == LoopKind::thread || kind == LoopKind::warp; }

/// The loops around one op, each with its part in a block's run.
struct Path {
  enum class Part : std::uint8_t { outside, thread, trip, body };
  struct Member {
    LoopId loop;
    std::size_t position;  ///< in the nest of cost/nest.h
    Part part;
    double extent;
    bool reduce;
  };
  std::vector<Member> members;
  double blocks = 1;

  double product(Part part) const {
    double all = 1;
    for (const Member& m : members)
      if (m.part == part) all *= m.extent;
    return all;
  }
};

/// The first loop of what all threads of a block run together to fill its memory; the path's length where nothing is.
std::size_t begin_of_collective(const LoopTree& tree, OpId op, const std::vector<LoopId>& path) {
  const auto in_block = [&](OpId of) { return tree.place(of).stored_in == StoredIn::block; };
  const auto found = std::find_if(path.begin(), path.end(), [&](LoopId loop) { return in_block(tree.loop(loop).op); });
  if (found == path.end() && !in_block(op)) return 0;
  return static_cast<std::size_t>(found - path.begin());
}

Path path_of(const LoopTree& tree, OpId op) {
  using Part = Path::Part;
  const LoopId leaf = loop_of_leaf(tree, op);
  const std::vector<LoopId> loops = leaf.valid() ? path_to(tree, leaf) : std::vector<LoopId>();
  const std::size_t collective = begin_of_collective(tree, op, loops);
  Path path;
  bool innermost = true;  // inside all loops that stay loops
  for (std::size_t k = loops.size(); k-- > 0;) {
    const TreeLoop& loop = tree.loop(loops[k]);
    const auto extent =
        static_cast<double>(is_thread(loop.kind) ? threads_of_loop(tree, loops[k]) : extent_of(tree, loops[k]));
    const bool others = k < collective;
    Part part = Part::trip;
    if (loop.kind == LoopKind::block) {
      part = Part::outside;
      path.blocks *= extent;
    } else if (is_thread(loop.kind)) {
      part = others ? Part::outside : Part::thread;
    } else if (loop.kind == LoopKind::virtual_thread) {
      part = others ? Part::outside : Part::body;
    } else if (extent == 1 || loop.kind == LoopKind::unrolled || loop.kind == LoopKind::vectorized ||
               is_in_tile(tree, loops[k])) {
      part = innermost ? Part::body : Part::trip;
    }
    if (part == Part::trip) innermost = false;
    path.members.push_back({loops[k], k, part, extent, is_reduce(tree, loops[k])});
  }
  std::reverse(path.members.begin(), path.members.end());
  return path;
}

std::int64_t elements_held(const LoopTree& tree, OpId op) {
  std::int64_t all = 1;
  for (std::size_t k = 0; k < tree.dag.op(op).shape.size(); ++k) all *= buffer_extent(tree, op, k);
  return all;
}

/// The sectors that the lanes touch with `width` elements each. `bytes`: of a sector; or of a line, which is then counted.
double sectors_of(const Lanes& at, double width, double element_bytes, double bytes = kSectorBytes) {
  if (at.uniform) return std::max(1.0, width * element_bytes / bytes);
  std::array<std::int64_t, kWarp> sector;
  const double share = element_bytes / bytes;
  for (std::size_t lane = 0; lane < kWarp; ++lane)
    sector[lane] = static_cast<std::int64_t>(std::floor(at[lane] * share));
  std::sort(sector.begin(), sector.end());
  const auto distinct = std::unique(sector.begin(), sector.end()) - sector.begin();
  return static_cast<double>(distinct) * std::max(1.0, width * share);
}

/// Cycles of a request to block memory: as many as different words, or vectors of words, lie in the fullest bank. Lanes that
/// read the same word are served together. `at` and `width` in words.
double passes_of(const Lanes& at, std::size_t width) {
  if (at.uniform) return 1;
  std::array<std::array<std::int32_t, kWarp>, kBanks> words;
  std::array<std::size_t, kBanks> count = {};
  std::size_t most = 1;
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    const std::size_t bank = static_cast<std::uint32_t>(at[lane]) / width * width % kBanks;
    auto& in_bank = words[bank];
    const auto end = in_bank.begin() + static_cast<std::ptrdiff_t>(count[bank]);
    if (std::find(in_bank.begin(), end, at[lane]) != end) continue;
    in_bank[count[bank]++] = at[lane];
    most = std::max(most, count[bank]);
  }
  return static_cast<double>(most);
}

/// Places of elements as places of the words that hold them.
Lanes in_words(Lanes at, double element_bytes) {
  if (element_bytes == kWordBytes) return at;
  for (std::int32_t& place : at.value)
    place = static_cast<std::int32_t>(std::floor(place * element_bytes / kWordBytes));
  return at;
}

/// Of the instructions of a function, those of one whose result is rounded to 16 bits.
constexpr double kRoundedFunction = 0.5;

/// cvt.rna of tf32 was three instructions and a half, as one of two elements to f16 or bf16 is one.
constexpr double kPairRounding = 1.0 / 3;

double roundings_to_tf32(const Op& op) {
  double all = 0;
  for_each(op.element().body, [&](const Expr& e) {
    const Call* call = std::get_if<Call>(&e->kind);
    if (call && call->fn == MathFn::round_tf32) all += 1;
  });
  return all;
}

/// Roundings of an element of the op, which becomes an operand of tensor cores.
double roundings_of(const Op& op) {
  double all = roundings_to_tf32(op);
  for_each(op.element().body, [&](const Expr& e) {
    if (std::holds_alternative<Cast>(e->kind) && is_half(e->dtype)) all += kPairRounding / 2;
  });
  return all;
}

/// Whether the op reads one activation, of 16 bits.
bool reads_one_half(const ComputeDag& dag, OpId op) {
  std::vector<OpId> activations = inputs_of(dag, op);
  std::erase_if(activations, [&](OpId input) { return is_constant(dag, input); });
  return activations.size() == 1 && is_half(dag.op(activations[0]).dtype);
}

/// The bytes of the sectors that some of the loops touch: of a box of elements, and no more of it than the loops have iterations,
/// because strides leave rows out and a tile of a merged axis has parts of rows.
template <typename Chosen>
double box_bytes(const Access& access, const Path& path, const Chosen& chosen) {
  double rows = 1, last = 1, iterations = 1;
  for (const Path::Member& m : path.members)
    if (chosen(m) && access.depends_on(m.position)) iterations *= m.extent;
  for (std::size_t k = 0; k < access.sizes.size(); ++k) {
    double extent = 1;
    for (const Path::Member& m : path.members)
      if (chosen(m)) extent += access.spans[k][m.position];
    extent = std::min(extent, access.sizes[k]);
    rows *= k + 1 == access.sizes.size() ? 1 : extent;
    last = extent;
  }
  const double of_row = std::max(kSectorBytes, last * access.element_bytes);
  return of_row * std::min(rows, std::max(1.0, iterations / last));
}

/// What a block fetches of a tensor: what it touches, once as far as that stays near.
double bytes_of_block(const Access& access, const LoopTree& tree, OpId op, const Path& path) {
  const auto& members = path.members;
  const bool near = tree.place(op).stored_in != StoredIn::block;  // copies go past the SM's cache
  std::size_t from = 0;
  const auto inside = [&](const Path::Member& m) {
    if (m.part == Path::Part::outside) return false;
    return m.part != Path::Part::trip || m.position >= from;
  };
  double repeated = 1;
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k].part != Path::Part::trip) continue;
    from = members[k].position;
    const bool own = tree.loop(members[k].loop).op == op;
    if (near ? box_bytes(access, path, inside) <= kNearBytes : own) break;
    repeated *= near && !access.depends_on(members[k].position) ? 1 : members[k].extent;
    from = members[k].position + 1;
  }
  return repeated * box_bytes(access, path, inside);
}

class NestReader {
 public:
  explicit NestReader(const LoopTree& tree) : tree_(tree), lanes_(tree) {}

  OpWork read(const Nest& from, const Path& path) {
    nest_ = &from, path_ = &path;
    collect_body();
    OpWork nest;
    nest.op = from.op;
    nest.warps = std::ceil(path.product(Path::Part::thread) / kWarp);
    nest.trips = path.product(Path::Part::trip);
    nest.body = path.product(Path::Part::body);
    const Element& element = tree_.dag.op(from.op).element();
    const double runs = nest.trips * nest.body;
    const double operations = arithmetic_of(element.body) + (element.reducer ? 1 : 0);
    const bool contracts = element.reducer == Reducer::sum && operations > 1;
    nest.multiply_adds = runs * (contracts ? operations - 1 : operations);
    const double roundings = roundings_of(tree_.dag.op(from.op));
    const bool in_block = tree_.place(from.op).stored_in == StoredIn::block;
    const bool scales = operations > 0 && element.family == OpFamily::unfold && reads_one_half(tree_.dag, from.op);
    nest.rounds = in_block && roundings > 0 && (operations == 0 || scales);
    if (scales) nest.multiply_adds += runs;  // they are widened
    nest.copies = in_block && from.flops == 0 && from.calls == 0 && roundings == 0;
    nest.conversions = runs * roundings;
    nest.to_tf32 = runs * roundings_to_tf32(tree_.dag.op(from.op));
    nest.functions = nest.rounds ? 0 : runs * from.calls * (is_half_in_registers(from.op) ? kRoundedFunction : 1);
    nest.exchanges = exchanges();
    nest.sums = sums();
    nest.accesses = read_all();
    if (is_of_warps()) share(nest);
    for (const OnlineSum& online : tree_.onlines) add_steps(nest, online);
    if (const auto* tile = tile_of(nest.op); tile && is_dp4a(tile->intrinsic)) {
      const auto at_once = static_cast<double>(op_of(tile->intrinsic).element().reduce_axes.front().extent);
      nest.multiply_adds /= at_once, nest.body /= at_once;
    }
    return nest;
  }

 private:
  void collect_body() {
    body_.clear(), threads_.clear();
    for (const Path::Member& m : path_->members) {
      if (m.part == Path::Part::thread) threads_.push_back(m.loop);
      if (m.part == Path::Part::body && m.extent > 1) body_.push_back(&m);
    }
  }

  bool is_half_in_registers(OpId op) const {
    return is_half(tree_.dag.op(op).dtype) && tree_.place(op).stored_in == StoredIn::registers;
  }

  /// What an online sum does in each of its steps beside its ops (schedule/online.h): it scales the sums so far, and the four lanes of a
  /// row exchange what each has added up.
  void add_steps(OpWork& nest, const OnlineSum& online) const {
    const auto steps = static_cast<double>(extent_of(tree_, online.loop));
    if (online.mix == nest.op) nest.multiply_adds += steps * nest.sums;
    if (online.top == nest.op || online.sum == nest.op)
      nest.exchanges += steps * 2 * static_cast<double>(elements_held(tree_, nest.op)) / kRowsOfWarp;
  }

  // ---- What the threads of a warp do together

  bool is_of_warps() const {
    return std::any_of(path_->members.begin(), path_->members.end(), [&](const Path::Member& m) {
      return m.part == Path::Part::thread && tree_.loop(m.loop).kind == LoopKind::warp;
    });
  }

  /// Until here the nest was counted as one thread's: each of a warp has its part.
  void share(OpWork& nest) const {
    nest.sums /= kWarp, nest.multiply_adds /= kWarp, nest.functions /= kWarp, nest.conversions /= kWarp;
    if (const TensorTile* tile = tile_of(nest.op); tile && is_warp_wide(tile->intrinsic))
      count_tiles(nest, *tile);
    else
      nest.body = std::max(1.0, nest.body / kWarp);
    for (LaunchAccess& access : nest.accesses) {
      if (access.memory == LaunchAccess::Memory::global) {
        // Eight rows of eight neighbours, of as many tiles side by side as are stored together.
        const double tiles = tiles_stored(access);
        access.requests = std::max(1.0, access.requests * access.width / kOfLane / tiles / kWarp);
        access.width = kOfLane * tiles;
        nest.turned += access.requests * tiles * std::log2(tiles);
        const double of_row =
            access.width * kLanesOfRow * static_cast<double>(size_of(tree_.dag.op(access.tensor).dtype));
        access.sectors = kRowsOfWarp * std::max(1.0, of_row / kSectorBytes);
        access.passes = access.least_passes = std::max(1.0, access.sectors * kSectorBytes / kPassBytes);
      } else if (access.memory == LaunchAccess::Memory::block && nest.intrinsic == Intrinsic::none) {
        share_in_block(access);
      }
    }
  }

  /// Of results in two bytes (codegen/gpu/emit_memory.cc).
  double tiles_stored(const LaunchAccess& access) const {
    if (!access.store || !is_half(tree_.dag.op(access.tensor).dtype)) return 1;
    const auto side_by_side = static_cast<std::int64_t>(access.run / (kOfLane * kLanesOfRow));
    return side_by_side % 4 == 0 ? 4 : side_by_side % 2 == 0 ? 2 : 1;
  }

  /// What is computed of sums: a lane has neighbours of a row, or what the row has one of.
  void share_in_block(LaunchAccess& access) const {
    const bool neighbours = access.width > 1;
    access.requests = std::max(1.0, access.requests * access.width / kRowsOfWarp / (neighbours ? kRowsOfWarp : 1));
    access.width = neighbours ? kOfLane : 1;
    const Op& op = tree_.dag.op(access.tensor);
    const auto row =
        static_cast<std::int32_t>(neighbours ? buffer_extent(tree_, access.tensor, op.shape.size() - 1) : 1);
    Lanes at;
    at.uniform = false;
    for (std::int32_t lane = 0; lane < kWarp; ++lane)
      at.value[static_cast<std::size_t>(lane)] = lane / 4 * row + (neighbours ? lane % 4 * 2 : 0);
    const auto bytes = static_cast<double>(size_of(op.dtype));
    access.least_passes = std::max(1.0, kWarp * access.width * bytes / kPassBytes);
    access.passes =
        passes_of(in_words(at, bytes), static_cast<std::size_t>(std::max(1.0, access.width * bytes / kWordBytes)));
  }

  const TensorTile* tile_of(OpId op) const {
    const auto tile = std::find_if(tree_.tiles.begin(), tree_.tiles.end(),
                                   [&](const TensorTile& t) { return tree_.loop(t.loop).op == op; });
    return tile == tree_.tiles.end() ? nullptr : &*tile;
  }

  /// Operands are read once a step: they stay in registers until all tiles of the step are computed.
  void count_tiles(OpWork& nest, const TensorTile& tile) const {
    const Element& wanted = op_of(tile.intrinsic).element();
    const double rows = static_cast<double>(wanted.axes[0].extent),
                 columns = static_cast<double>(wanted.axes[1].extent),
                 depth = static_cast<double>(wanted.reduce_axes[0].extent);
    const auto in_word = static_cast<std::int64_t>(depth) / 8;
    double steps = 1;  // along the depth, of a trip
    for (const Path::Member* m : body_) steps *= m->reduce ? m->extent : 1;
    steps /= depth;
    const auto of_rows = std::find_if(path_->members.begin(), path_->members.end(),
                                      [&](const Path::Member& m) { return m.loop == tile.loop; });
    // The innermost loop of a tile is that over its terms.
    const std::size_t of_terms = path_->members.back().position;
    nest.intrinsic = tile.intrinsic, nest.multiply_adds = nest.functions = nest.conversions = nest.to_tf32 = 0;
    nest.tiles = nest.trips * nest.body / (rows * columns * depth);
    nest.body = nest.tiles / nest.trips;
    for (std::size_t k = 0; k < nest.accesses.size(); ++k) {
      const Access& from = nest_->accesses[k];
      LaunchAccess& access = nest.accesses[k];
      if (from.store || access.memory != LaunchAccess::Memory::block) continue;
      const bool left = from.depends_on(of_rows->position);
      double across = 1;
      for (const Path::Member* m : body_)
        if (!m->reduce && from.depends_on(m->position)) across *= m->extent;
      across /= left ? rows : columns;
      const double words = left ? 4 : 2, fragments = nest.trips * steps * across;
      const bool whole_words = in_word * from.element_bytes == kWordBytes;
      const bool along_terms = from.spans.back()[of_terms] > 0;
      const bool matrices = whole_words && (left || from.element_bytes == 2 || along_terms);
      // One request has the operands of two neighbouring tiles on the right.
      const double together = matrices && !left ? across / std::ceil(across / 2) : 1;
      access.width = 1, access.least_passes = matrices ? words * together : 1;
      access.requests = fragments * (matrices      ? 1 / together
                                     : whole_words ? words
                                                   : words * static_cast<double>(in_word));
      access.passes = access.least_passes * fragment_passes(from.tensor, along_terms, matrices, in_word);
      const std::optional<MathFn> rounding = rounding_of(tile.intrinsic);
      if (rounding && from.element_bytes == kWordBytes && !is_rounded(tree_.dag, from.tensor, *rounding)) {
        nest.conversions += fragments * words * (in_word > 1 ? kPairRounding : 1);
        nest.to_tf32 += in_word > 1 ? 0 : fragments * words;
      }
      nest.operands += across * words;
    }
  }

  /// Cycles of a request for words of fragments by what they are without conflicts. A request of matrices reads eight rows
  /// of 16 bytes in one cycle at best.
  double fragment_passes(OpId tensor, bool along_terms, bool matrices, std::int64_t in_word) const {
    const Op& op = tree_.dag.op(tensor);
    const auto bytes = static_cast<double>(size_of(op.dtype));
    const auto row = static_cast<std::int32_t>(buffer_extent(tree_, tensor, op.shape.size() - 1));
    const auto word = static_cast<std::int32_t>(in_word);
    Lanes at;
    at.uniform = false;
    for (std::int32_t lane = 0; lane < kWarp; ++lane) {
      const std::int32_t g = lane / 4, q = lane % 4;
      at.value[static_cast<std::size_t>(lane)] = matrices && bytes == kWordBytes ? g * row + q
                                                 : along_terms || matrices       ? g * row + q * word
                                                                                 : q * word * row + g;
    }
    return passes_of(in_words(as_they_lie(at, tensor), bytes), 1);
  }

  /// Where lanes are in the swizzled memory of a block.
  Lanes as_they_lie(Lanes at, OpId tensor) const {
    const Op& op = tree_.dag.op(tensor);
    const std::int64_t pieces = tree_.place(tensor).swizzle, bytes = size_of(op.dtype);
    if (pieces == 0 || at.uniform) return at;
    const Swizzle swizzle{pieces, buffer_extent(tree_, tensor, op.shape.size() - 1) * bytes};
    for (std::int32_t& place : at.value) place = static_cast<std::int32_t>(swizzle.place(place * bytes) / bytes);
    return at;
  }

  bool is_cached() const { return nest_->registers_from < nest_->loops.size(); }

  double sums() const {
    const bool own = tree_.place(nest_->op).stored_in == StoredIn::registers;
    if (!own && !is_cached()) return 0;
    double sums = own ? static_cast<double>(elements_held(tree_, nest_->op)) : 1;
    for (const Path::Member& m : path_->members) {
      const bool apart = tree_.loop(m.loop).kind == LoopKind::virtual_thread;
      const bool held = !own && m.position >= nest_->registers_from && m.part != Path::Part::thread && !m.reduce;
      if (apart || held) sums *= m.extent;
    }
    return sums;
  }

  /// A butterfly for each element that the op adds up across threads; warps exchange theirs through block memory.
  double exchanges() const {
    double steps = 0, elements = 1;
    for (const Path::Member& m : path_->members) {
      const bool own = tree_.loop(m.loop).op == nest_->op;
      if (m.part == Path::Part::thread && m.reduce && own)
        steps = std::ceil(std::log2(m.extent)) + (m.extent > kWarp ? kMeeting : 0);
      else if (m.part != Path::Part::outside && m.part != Path::Part::thread && !m.reduce)
        elements *= m.extent;
    }
    return steps * elements;
  }

  LaunchAccess::Memory memory_of(OpId tensor) const {
    const Placement& place = tree_.place(tensor);
    if (place.stored_in == StoredIn::registers) return LaunchAccess::Memory::registers;
    if (place.stored_in == StoredIn::block) return LaunchAccess::Memory::block;
    const bool placed = place.kind == PlaceKind::at || place.kind == PlaceKind::reverse_at;
    const auto& outputs = tree_.dag.outputs;
    const bool output = std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
    return placed && !output ? LaunchAccess::Memory::local : LaunchAccess::Memory::global;
  }

  Lanes address(const Access& access) const { return access.load ? lanes_.loaded(*access.load) : lanes_.stored(); }

  /// Where the lanes of a warp are, and what the body adds.
  struct Reach {
    Lanes at;
    double elements = 1;     ///< that the body touches
    double run = 1;          ///< of them behind each other
    std::int32_t steps = 0;  ///< the bits that any place has
  };

  std::vector<LaunchAccess> read_all() {
    const std::vector<Access>& all = nest_->accesses;
    std::vector<LaunchAccess> accesses(all.size());
    std::vector<Reach> reaches(all.size());
    lanes_.run_over(nest_->op, threads_);
    for (std::size_t k = 0; k < all.size(); ++k) {
      accesses[k].tensor = all[k].tensor, accesses[k].store = all[k].store;
      accesses[k].constant = is_constant(tree_.dag, all[k].tensor);
      accesses[k].memory = memory_of(all[k].tensor);
      if (accesses[k].memory == LaunchAccess::Memory::registers) continue;
      reaches[k].at = address(all[k]);
      for (std::size_t lane = 0; lane < kWarp; ++lane) reaches[k].steps |= reaches[k].at[lane];
    }
    for (std::size_t b = body_.size(); b-- > 0;) {
      lanes_.run_over(nest_->op, std::span(&body_[b]->loop, 1));
      for (std::size_t k = 0; k < all.size(); ++k)
        if (accesses[k].memory != LaunchAccess::Memory::registers) extend(all[k], *body_[b], reaches[k]);
    }
    for (std::size_t k = 0; k < all.size(); ++k)
      if (accesses[k].memory != LaunchAccess::Memory::registers) finish(all[k], reaches[k], accesses[k]);
    return accesses;
  }

  /// From the innermost loop out.
  void extend(const Access& access, const Path::Member& m, Reach& reach) const {
    if (access.store && is_summed(m)) return;
    const Lanes along = address(access);
    if (along.uniform) return;
    reach.elements *= m.extent;
    const std::int32_t step = along[1] - along[0];
    if (step == 1 && reach.run == 1)
      reach.run = m.extent;
    else if (access.element_bytes < kWordBytes && step == reach.run)
      reach.run *= m.extent;  // words, which make vectors
    else if (step != 1)
      reach.steps |= step;
  }

  /// As many elements at once as lie behind each other at a multiple of that many.
  void finish(const Access& from, const Reach& reach, LaunchAccess& access) const {
    const double widest = 16 / from.element_bytes;
    access.run = reach.run;
    while (access.width < widest && std::fmod(reach.run, 2 * access.width) == 0 &&
           (reach.steps & (2 * static_cast<std::int32_t>(access.width) - 1)) == 0)
      access.width *= 2;
    access.requests = from.times * reach.elements / access.width * trips(from.store);
    const bool adds = from.store && tree_.dag.op(nest_->op).element().reducer && !is_cached();
    if (adds) access.requests *= 2;  // it reads what it adds to
    const double warp_bytes = kWarp * access.width * from.element_bytes;
    access.least_passes = access.passes = std::max(1.0, warp_bytes / kPassBytes);
    if (access.memory == LaunchAccess::Memory::block)
      access.passes =
          passes_of(in_words(as_they_lie(reach.at, from.tensor), from.element_bytes),
                    static_cast<std::size_t>(std::max(1.0, access.width * from.element_bytes / kWordBytes)));
    if (access.memory != LaunchAccess::Memory::global) return;
    access.sectors = sectors_of(reach.at, access.width, from.element_bytes);
    access.passes = sectors_of(reach.at, access.width, from.element_bytes, kPassBytes);
    access.bytes = bytes_of_block(from, tree_, nest_->op, *path_);
  }

  /// A loop over terms of a sum that registers hold: what is stored does not depend on it.
  bool is_summed(const Path::Member& m) const { return m.reduce && m.position >= nest_->registers_from; }

  double trips(bool store) const {
    double trips = 1;
    for (const Path::Member& m : path_->members)
      if (m.part == Path::Part::trip && !(store && is_summed(m))) trips *= m.extent;
    return trips;
  }

  const LoopTree& tree_;
  LaneValues lanes_;
  const Nest* nest_ = nullptr;
  const Path* path_ = nullptr;
  std::vector<const Path::Member*> body_;
  std::vector<LoopId> threads_;
};

/// Rounded copies are loaded ahead of the work and stored behind it where a pipeline has room (lower/gpu/late_stores.h).
void hold_copies(const LoopTree& tree, LaunchWork& launch) {
  if (launch.stages == 1) return;
  const auto held_by = [&](const OpWork& nest) {
    double registers = 0;
    for (const LaunchAccess& access : nest.accesses)
      if (!access.store && !access.constant)
        registers +=
            access.requests * access.width / nest.trips * (is_half(tree.dag.op(access.tensor).dtype) ? 0.5 : 1);
    return nest.rounds ? registers : 0;
  };
  double all = 0;
  for (const OpWork& nest : launch.nests) all += held_by(nest);
  if (all > kMostHeld) return;
  for (OpWork& nest : launch.nests) nest.held = held_by(nest);
}

/// As code generation decides (codegen/gpu/emit_ahead.cc).
bool reads_ahead(const LaunchWork& launch) {
  constexpr double kMostRegisters = 208;
  double registers = 0;
  for (const OpWork& nest : launch.nests) {
    if (nest.operands > 0 && registers > 0) return false;  // two products
    if (nest.operands > 0) registers = nest.sums + 2 * nest.operands;
  }
  for (const OpWork& nest : launch.nests) registers += nest.held;
  return launch.stages > 1 && launch.slabs > 1 && registers > 0 && registers <= kMostRegisters;
}

/// Registers of a thread. Source: what ptxas gave kernels of these forms. 1.25 a sum and 40 for the rest where operands come
/// from block memory, 20 more for indices of unfolded ones; one a sum and an operand and the same rest where warps compute
/// tiles, those of one product after those of another, and one an element that a copy which rounds holds. Else 20, and 0.7 of a register for each element that is held or
/// loaded by an unrolled body, because ptxas orders loads by use.
int registers_of(const LoopTree& tree, const LaunchWork& launch) {
  double loaded = 0, tiles = 0, held = 0, sums = 0;
  // Both products of an online sum have theirs at once.
  const bool together = !tree.onlines.empty();
  bool unfolds = false, of_tiles = false;
  for (const OpWork& nest : launch.nests) {
    double of_nest = 0;
    of_tiles = of_tiles || nest.operands > 0;
    if (nest.operands > 0) tiles = std::max(tiles, (together ? 0 : nest.sums) + nest.operands);
    if (nest.operands > 0 && together) sums += nest.sums;
    // What is only moved to registers is counted there.
    const bool moved = nest.sums > 0 && !tree.dag.op(nest.op).element().reducer;
    for (const LaunchAccess& access : nest.accesses)
      if (!access.store && !moved) of_nest += access.requests * access.width / nest.trips;
    loaded = std::max(loaded, of_nest);
    held += nest.held;
    unfolds = unfolds || tree.dag.op(nest.op).element().family == OpFamily::unfold;
  }
  const double rest = 40 + (unfolds && held == 0 ? 20 : 0);
  if (of_tiles) return static_cast<int>(std::min(sums + tiles + held + rest, 255.0));
  const double registers =
      launch.block_memory > 0 ? 1.25 * launch.sums + 40 + (unfolds ? 20 : 0) : 0.7 * (launch.sums + loaded) + 20;
  return static_cast<int>(std::min(registers, 255.0));
}

/// Of a thread, where an SM is to hold some blocks at once.
int most_registers(const LoopTree& tree, const std::vector<Item>& roots, const LaunchWork& launch) {
  const LoopId first = roots.front().loop;
  const std::int64_t blocks = first.valid() ? tree.loop(first).min_blocks : 0;
  const int all = GpuLimits().registers_per_thread;
  return blocks == 0 ? all : std::min(all, static_cast<int>(GpuLimits().registers_per_sm / (blocks * launch.threads)));
}

std::int64_t block_bytes(const LoopTree& tree, OpId op) {
  const LoopId at = tree.place(op).at;
  const std::int64_t stages = extent_of(tree, at) > 1 ? stages_of(tree, at) : 1;
  return stages * elements_held(tree, op) * size_of(tree.dag.op(op).dtype);
}

/// The iterations of the loops around a loop of a block that stay loops, its own included.
double slabs_at(const LoopTree& tree, LoopId at) {
  double slabs = 1;
  for (LoopId loop : path_to(tree, at)) {
    const LoopKind kind = tree.loop(loop).kind;
    if (kind == LoopKind::serial || kind == LoopKind::unrolled) slabs *= static_cast<double>(extent_of(tree, loop));
  }
  return slabs;
}

bool holds_blocks(const LoopTree& tree, const Item& item) {
  if (!item.loop.valid()) return false;
  const TreeLoop& loop = tree.loop(item.loop);
  return loop.kind == LoopKind::block ||
         std::any_of(loop.children.begin(), loop.children.end(), [&](const Item& c) { return holds_blocks(tree, c); });
}

/// The launch of each root, by its number among the roots.
std::vector<std::size_t> launch_of_roots(const LoopTree& tree) {
  std::vector<std::size_t> launch;
  bool open = false;
  std::size_t next = 0;
  for (const Item& root : tree.roots) {
    const bool plain = !holds_blocks(tree, root);
    launch.push_back(plain && open ? next - 1 : next++);
    open = plain;
  }
  return launch;
}

std::size_t root_of(const LoopTree& tree, OpId op) {
  const LoopId leaf = loop_of_leaf(tree, op);
  const LoopId top = leaf.valid() ? path_to(tree, leaf).front() : LoopId();
  const auto found = std::find_if(tree.roots.begin(), tree.roots.end(),
                                  [&](const Item& root) { return top.valid() ? root.loop == top : root.leaf == op; });
  return static_cast<std::size_t>(found - tree.roots.begin());
}

void add(const LoopTree& tree, LaunchWork& launch, OpWork nest, const Path& path) {
  launch.blocks = std::max(launch.blocks, path.blocks);
  launch.sums += nest.sums;
  const Placement& place = tree.place(nest.op);
  if (place.stored_in == StoredIn::block) {
    launch.block_memory += block_bytes(tree, nest.op);
    launch.slabs = std::max(launch.slabs, slabs_at(tree, place.at));
    launch.stages = std::max(launch.stages, stages_of(tree, place.at));
  }
  launch.nests.push_back(std::move(nest));
}

}  // namespace

std::vector<LaunchWork> gpu_launches(const LoopTree& tree) {
  const std::vector<std::size_t> of_root = launch_of_roots(tree);
  std::vector<LaunchWork> launches(of_root.empty() ? 0 : of_root.back() + 1);
  std::vector<std::vector<Item>> roots(launches.size());
  for (std::size_t k = 0; k < of_root.size(); ++k) roots[of_root[k]].push_back(tree.roots[k]);
  for (std::size_t k = 0; k < launches.size(); ++k)
    launches[k].threads = static_cast<int>(launch_threads(tree, roots[k]));
  NestReader reader(tree);
  for (const Nest& nest : nests_of(tree)) {
    const std::size_t root = root_of(tree, nest.op);
    if (root >= of_root.size()) continue;
    const Path path = path_of(tree, nest.op);
    add(tree, launches[of_root[root]], reader.read(nest, path), path);
  }
  for (std::size_t k = 0; k < launches.size(); ++k) {
    hold_copies(tree, launches[k]);
    launches[k].reads_ahead = reads_ahead(launches[k]);
    launches[k].registers = std::min(registers_of(tree, launches[k]), most_registers(tree, roots[k], launches[k]));
  }
  return launches;
}

}  // namespace whet
