#include "ptx/instructions.h"

#include <algorithm>
#include <utility>

namespace whet::ptx {
namespace {

constexpr struct {
  std::string_view name;
  Type type;
  int bits;
} kTypes[] = {{"pred", Type::pred, 1}, {"b8", Type::b8, 8},    {"b16", Type::b16, 16}, {"b32", Type::b32, 32},
              {"b64", Type::b64, 64},  {"u8", Type::u8, 8},    {"u16", Type::u16, 16}, {"u32", Type::u32, 32},
              {"u64", Type::u64, 64},  {"s8", Type::s8, 8},    {"s16", Type::s16, 16}, {"s32", Type::s32, 32},
              {"s64", Type::s64, 64},  {"f16", Type::f16, 16}, {"f32", Type::f32, 32}, {"f64", Type::f64, 64}};

/// Of one group an instruction has one at most; of 'c', the comparisons, and 'w' one.
constexpr struct {
  std::string_view word;
  char group;
  void (*set)(Instruction&);
} kModifiers[] = {
    {"rn", 'r', [](Instruction& i) { i.rounding = Rounding::nearest; }},
    {"rz", 'r', [](Instruction& i) { i.rounding = Rounding::zero; }},
    {"rni", 'r', [](Instruction& i) { i.rounding = Rounding::nearest, i.integral = true; }},
    {"rzi", 'r', [](Instruction& i) { i.rounding = Rounding::zero, i.integral = true; }},
    {"rmi", 'r', [](Instruction& i) { i.rounding = Rounding::down, i.integral = true; }},
    {"rpi", 'r', [](Instruction& i) { i.rounding = Rounding::up, i.integral = true; }},
    {"ftz", 'f', [](Instruction& i) { i.flushes = true; }},
    {"sat", 't', [](Instruction& i) { i.saturates = true; }},
    {"NaN", 'n', [](Instruction& i) { i.gives_nan = true; }},
    {"nc", 'y', [](Instruction& i) { i.read_only = true; }},
    {"v2", 'v', [](Instruction& i) { i.width = 2; }},
    {"v4", 'v', [](Instruction& i) { i.width = 4; }},
    {"global", 's', [](Instruction& i) { i.space = Space::global; }},
    {"shared", 's', [](Instruction& i) { i.space = Space::shared; }},
    {"local", 's', [](Instruction& i) { i.space = Space::local; }},
    {"param", 's', [](Instruction& i) { i.space = Space::param; }},
    {"approx", 'r', [](Instruction&) {}},
    {"full", 'r', [](Instruction&) {}},
    {"to", 'o', [](Instruction&) {}},
    {"uni", 'u', [](Instruction&) {}},
    {"wrap", 'w', [](Instruction& i) { i.wraps = true; }},
    {"clamp", 'w', [](Instruction&) {}},
    {"eq", 'c', [](Instruction& i) { i.comparison = Comparison::eq; }},
    {"ne", 'c', [](Instruction& i) { i.comparison = Comparison::ne; }},
    {"lt", 'c', [](Instruction& i) { i.comparison = Comparison::lt; }},
    {"le", 'c', [](Instruction& i) { i.comparison = Comparison::le; }},
    {"gt", 'c', [](Instruction& i) { i.comparison = Comparison::gt; }},
    {"ge", 'c', [](Instruction& i) { i.comparison = Comparison::ge; }},
    {"equ", 'c', [](Instruction& i) { i.comparison = Comparison::equ; }},
    {"neu", 'c', [](Instruction& i) { i.comparison = Comparison::neu; }},
    {"ltu", 'c', [](Instruction& i) { i.comparison = Comparison::ltu; }},
    {"leu", 'c', [](Instruction& i) { i.comparison = Comparison::leu; }},
    {"gtu", 'c', [](Instruction& i) { i.comparison = Comparison::gtu; }},
    {"geu", 'c', [](Instruction& i) { i.comparison = Comparison::geu; }},
    {"num", 'c', [](Instruction& i) { i.comparison = Comparison::num; }},
    {"nan", 'c', [](Instruction& i) { i.comparison = Comparison::nan; }},
};

/// One row: the name, modifiers that may follow it, and types that must, the second one of those in `from`.
struct Form {
  std::string_view name;
  Op op;
  const char* operands;
  std::string_view modifiers = {}, types = {}, from = {};
};

constexpr std::string_view kInts = "s16 s32 s64 u16 u32 u64", kWords = "s32 u32", kFloats = "f32 f64",
                           kBits = "b16 b32 b64", kRaw = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 f32 f64",
                           kStored = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f16 f32 f64",
                           kSmallInts = "u8 s8 u16 s16 u32 s32 u64 s64", kOrders = "eq ne lt le gt ge",
                           kFloatOrders = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan ftz",
                           kSpaces = "global shared local param nc v2 v4";

constexpr Form kForms[] = {
    {"abs", Op::absolute, "t = t", "", "s16 s32 s64"},
    {"abs", Op::absolute, "t = t", "ftz", kFloats},
    {"add", Op::add, "t = t t", "", kInts},
    {"add", Op::add, "t = t t", "rn ftz", kFloats},
    {"and", Op::bit_and, "t = t t", "", "pred b16 b32 b64"},
    {"bfe", Op::extract_bits, "t = t w w", "", "s32 s64 u32 u64"},
    {"bfi", Op::insert_bits, "t = t t w w", "", "b32 b64"},
    {"copysign", Op::copysign, "t = t t", "", kFloats},
    {"cvt.rn.bf16x2.f32", Op::convert_bf16x2, "w = w w"},
    {"cvt.rn.f16x2.f32", Op::convert_f16x2, "w = w w"},
    {"cvt.rna.tf32.f32", Op::convert_tf32, "w = w"},
    {"cvt.rn.tf32.f32", Op::convert_tf32_to_even, "w = w"},
    {"cvt", Op::convert, "x = y", "sat", kSmallInts, kSmallInts},
    {"cvt", Op::convert, "x = y", "rn rz rni rzi rmi rpi ftz sat", "f16 f32 f64", "f16 f32 f64"},
    {"cvt", Op::convert, "x = y", "rni rzi rmi rpi ftz", kSmallInts, kFloats},
    {"cvt", Op::convert, "x = y", "rn", kFloats, kSmallInts},
    {"cvta", Op::move, "t = t", "to global shared local param", "u64"},
    {"div", Op::divide, "t = t t", "", kInts},
    {"div", Op::divide, "t = t t", "rn full approx ftz", kFloats},
    {"dp4a", Op::dp4a, "w = w w w", "", kWords, kWords},
    {"ex2", Op::exp2, "t = t", "approx ftz", "f32"},
    {"fma", Op::fma, "t = t t t", "rn ftz", kFloats},
    {"mad.lo", Op::multiply_add, "t = t t t", "", kInts},
    {"max", Op::maximum, "t = t t", "", kInts},
    {"max", Op::maximum, "t = t t", "ftz NaN", kFloats},
    {"min", Op::minimum, "t = t t", "", kInts},
    {"min", Op::minimum, "t = t t", "ftz NaN", kFloats},
    {"mov", Op::move, "t = t", "", "pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"},
    {"mul.hi", Op::multiply_high, "t = t t", "", kInts},
    {"mul.lo", Op::multiply, "t = t t", "", kInts},
    {"mul.wide", Op::multiply_wide, "W = t t", "", "s16 u16 s32 u32"},
    {"mul", Op::multiply, "t = t t", "rn ftz", kFloats},
    {"neg", Op::negate, "t = t", "", "s16 s32 s64"},
    {"neg", Op::negate, "t = t", "ftz", kFloats},
    {"not", Op::bit_not, "t = t", "", "pred b16 b32 b64"},
    {"or", Op::bit_or, "t = t t", "", "pred b16 b32 b64"},
    {"prmt", Op::permute, "w = w w w", "", "b32"},
    {"rcp", Op::reciprocal, "t = t", "rn approx ftz", kFloats},
    {"rem", Op::remainder, "t = t t", "", kInts},
    {"rsqrt", Op::rsqrt, "t = t", "approx ftz", kFloats},
    {"selp", Op::select, "t = t t p", "", kRaw},
    {"setp", Op::compare, "p = t t", kOrders, kInts},
    {"setp", Op::compare, "p = t t", "eq ne", kBits},
    {"setp", Op::compare, "p = t t", kFloatOrders, kFloats},
    {"shf.l", Op::funnel_left, "w = w w w", "wrap clamp", "b32"},
    {"shf.r", Op::funnel_right, "w = w w w", "wrap clamp", "b32"},
    {"shl", Op::shift_left, "t = t w", "", kBits},
    {"shr", Op::shift_right, "t = t w", "", "s16 s32 s64 u16 u32 u64 b16 b32 b64"},
    {"sqrt", Op::sqrt, "t = t", "rn approx ftz", kFloats},
    {"sub", Op::subtract, "t = t t", "", kInts},
    {"sub", Op::subtract, "t = t t", "rn ftz", kFloats},
    {"xor", Op::bit_xor, "t = t t", "", "pred b16 b32 b64"},

    {"ld", Op::load, "vx = m", kSpaces, kStored},
    {"st", Op::store, "= m vx", kSpaces, kStored},
    {"prefetch.global.L2", Op::prefetch, "= m"},
    {"cp.async.ca.shared.global", Op::copy, "= m m n ?w"},
    {"cp.async.cg.shared.global", Op::copy, "= m m n ?w"},
    {"cp.async.commit_group", Op::copy_commit, "="},
    {"cp.async.wait_group", Op::copy_wait, "= n"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", Op::bulk_copy, "= m m w m"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", Op::tensor_copy, "= m 2c m"},
    {"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", Op::tensor_copy, "= m 3c m"},
    {"cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", Op::tensor_copy, "= m 4c m"},
    {"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes", Op::pixel_copy,
     "= m 4c m 2h"},
    {"fence.mbarrier_init.release.cluster", Op::nothing, "="},
    {"fence.proxy.async.shared::cta", Op::nothing, "="},
    {"mbarrier.init.shared::cta.b64", Op::mbarrier_init, "= m w"},
    {"mbarrier.arrive.shared::cta.b64", Op::mbarrier_arrive, "d = m"},
    {"mbarrier.arrive.expect_tx.shared::cta.b64", Op::mbarrier_expect, "d = m w"},
    {"mbarrier.try_wait.parity.shared::cta.b64", Op::mbarrier_wait, "p = m w"},

    {"bar.sync", Op::barrier, "= w ?w"},
    {"shfl.sync.bfly.b32", Op::shuffle, "w = w w w w"},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", Op::load_matrices, "4w = m"},
    {"ldmatrix.sync.aligned.m8n8.x2.shared.b16", Op::load_matrices, "2w = m"},
    {"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", Op::load_turned_matrices, "2w = m"},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", Op::load_turned_matrices, "4w = m"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", Op::multiply_tile, "4w = 4w 2w 4w"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Op::multiply_tile, "4w = 4w 2w 4w"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", Op::multiply_tile, "4w = 4w 2w 4w"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", Op::multiply_tile, "4w = 4w 2w 4w"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", Op::multiply_tile, "4w = 4w 2w 4w"},
    {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", Op::multiply_tile, "2w = 1w 1w 2w"},
    {"mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32", Op::multiply_tile, "2w = 1w 1w 2w"},

    {"wgmma.fence.sync.aligned", Op::nothing, "="},
    {"wgmma.commit_group.sync.aligned", Op::group_commit, "="},
    {"wgmma.wait_group.sync.aligned", Op::group_wait, "= n"},
    {"setmaxnreg.dec.sync.aligned.u32", Op::give_registers, "= n"},
    {"setmaxnreg.inc.sync.aligned.u32", Op::take_registers, "= n"},

    {"bra", Op::branch, "= l", "uni"},
    {"ret", Op::leave, "="},
    {"griddepcontrol.wait", Op::nothing, "="},
    {"griddepcontrol.launch_dependents", Op::nothing, "="},
};

bool has_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ',
               ends = at + word.size() == words.size() || words[at + word.size()] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

std::vector<std::string_view> split_at_dots(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    words.push_back(text.substr(0, dot));
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return words;
}

/// Takes the modifiers and types behind the row's name.
std::optional<Instruction> with(const Form& form, std::vector<std::string_view> words) {
  Instruction made;
  made.op = form.op;
  const auto take_type = [&](std::string_view allowed, Type& type) {
    if (allowed.empty()) return true;
    if (words.empty() || !has_word(allowed, words.back())) return false;
    type = parse_type(words.back()).value_or(Type::none);
    words.pop_back();
    return type != Type::none;
  };
  if (!take_type(form.from, made.from) || !take_type(form.types, made.type)) return {};
  std::string groups;
  for (const std::string_view word : words) {
    if (!has_word(form.modifiers, word)) return {};
    for (const auto& modifier : kModifiers)
      if (modifier.word == word) modifier.set(made), groups += modifier.group;
  }
  std::sort(groups.begin(), groups.end());
  if (std::adjacent_find(groups.begin(), groups.end()) != groups.end()) return {};
  const auto has = [&](char group) { return groups.find(group) != groups.npos; };
  const bool funnel = form.op == Op::funnel_left || form.op == Op::funnel_right;
  if ((form.op == Op::compare && !has('c')) || (funnel && !has('w'))) return {};
  return made;
}

Tile tile_of(std::string_view name) {
  constexpr std::pair<std::string_view, Tile> kTiles[] = {
      {".tf32.", Tile::tf32}, {".bf16.", Tile::bf16}, {".f16.", Tile::f16}, {".u8.", Tile::u8}, {".s8.", Tile::s8}};
  for (const auto& [part, tile] : kTiles)
    if (name.find(part) != name.npos) return tile;
  return Tile::tf32;
}

/// wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16: the number of columns is a part of the name.
std::optional<Decoded> decode_group_product(std::string_view text) {
  constexpr std::string_view kStart = "wgmma.mma_async.sync.aligned.m64n";
  if (!text.starts_with(kStart)) return {};
  text.remove_prefix(kStart.size());
  int columns = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && columns < 1000) {
    columns = 10 * columns + text[0] - '0';
    text.remove_prefix(1);
  }
  constexpr std::pair<std::string_view, Tile> kKinds[] = {
      {"k16.f32.f16.f16", Tile::f16}, {"k16.f32.bf16.bf16", Tile::bf16}, {"k8.f32.tf32.tf32", Tile::tf32}};
  for (const auto& [kind, tile] : kKinds) {
    if (text != kind || columns < 8 || columns > 256 || columns % 8 != 0) continue;
    Instruction made;
    made.op = Op::group_multiply, made.tile = tile, made.columns = columns;
    return Decoded{made, std::to_string(columns / 2) + "w = L d p w w ?w ?w"};
  }
  return {};
}

}  // namespace

int bits_of(Type type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row.bits;
  return 0;
}
bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }
bool is_float(Type type) { return type == Type::f16 || type == Type::f32 || type == Type::f64; }

bool is_collective(Op op) {
  return op == Op::barrier || op == Op::load_matrices || op == Op::load_turned_matrices || op == Op::multiply_tile ||
         op == Op::shuffle || op == Op::group_commit || op == Op::group_multiply || op == Op::group_wait ||
         op == Op::give_registers || op == Op::take_registers;
}

std::optional<Type> parse_type(std::string_view name) {
  for (const auto& row : kTypes)
    if (row.name == name) return row.type;
  return {};
}

std::optional<Decoded> decode(std::string_view text) {
  if (std::optional<Decoded> made = decode_group_product(text)) return made;
  for (const Form& form : kForms) {
    if (!text.starts_with(form.name)) continue;
    const std::string_view rest = text.substr(form.name.size());
    if (!rest.empty() && (rest[0] != '.' || rest.back() == '.')) continue;
    std::optional<Instruction> made = with(form, split_at_dots(rest.empty() ? rest : rest.substr(1)));
    if (!made) continue;
    if (made->op == Op::multiply_tile) made->tile = tile_of(form.name);
    if (form.name.starts_with("ldmatrix") || form.name.starts_with("mbarrier")) made->space = Space::shared;
    return Decoded{*std::move(made), form.operands};
  }
  return {};
}

}  // namespace whet::ptx
