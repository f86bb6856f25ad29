#include "measure/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>

#include "base/hash.h"
#include "runner/fill.h"
#include "runner/given.h"
#include "tensor/compare.h"

namespace whet {
namespace {

/// Above this the interpreter would take too long for the whole.
constexpr double kWholeFlops = 1e6;
constexpr std::int64_t kSpots = 256;
/// Of outputs that are known whole, while no kernel has passed.
constexpr std::int64_t kFirstSpots = kMostSpots;
/// Of a row (the last dimension) where elements of one row share most of what is computed for them.
constexpr std::int64_t kSpotsOfARow = 8;
/// As far from the end of a dimension a place is near it.
constexpr std::int64_t kBorder = 16;

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

/// Whether a number of bf16 is computed in the body; others are copied.
bool rounds_to_bf16(const Expr& body) {
  bool rounds = false;
  for_each(body, [&](const Expr& part) {
    if (part->dtype != DType::bf16) return;
    const auto* cast = std::get_if<Cast>(&part->kind);
    rounds |= cast != nullptr || std::holds_alternative<Binary>(part->kind) || std::holds_alternative<Call>(part->kind);
  });
  return rounds;
}

/// Whether floats become numbers of i16.
bool rounds_to_i16(const ComputeDag& dag) {
  bool rounds = false;
  for (const Op& op : dag.ops) {
    if (op.is_placeholder()) continue;
    for_each(op.element().body, [&](const Expr& part) {
      const auto* cast = std::get_if<Cast>(&part->kind);
      rounds |= cast != nullptr && part->dtype == DType::i16 && is_float(cast->a->dtype);
    });
  }
  return rounds;
}

/// Whether sums are over sums, as in kernels of several layers: each element then needs whole rows of the inner ones.
bool has_sums_of_sums(const ComputeDag& dag) {
  std::vector<bool> has_sum(dag.ops.size());
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    if (dag.ops[i].is_placeholder()) continue;
    const std::vector<OpId> read = inputs_of(dag, OpId(static_cast<std::int64_t>(i)));
    const bool reads_sum = std::ranges::any_of(read, [&](OpId id) { return has_sum[id.index()]; });
    const bool sums = !dag.ops[i].element().reduce_axes.empty();
    if (sums && reads_sum) return true;
    has_sum[i] = sums || reads_sum;
  }
  return false;
}

/// The numbers of `most` elements. Corners come first. Seeded places follow; every other one is near a border, where tiles are cut and
/// padding is read. Each place brings other elements of its row, `of_a_row` with it.
std::vector<std::int64_t> spots(const Shape& shape, std::uint64_t seed, std::int64_t most = kSpots,
                                std::int64_t of_a_row = 1) {
  const std::int64_t count = num_elements(shape);
  std::set<std::int64_t> chosen;
  const auto strides = row_major_strides(shape);
  for (std::int64_t corner = 0; corner < std::int64_t{1} << std::min<std::size_t>(shape.size(), 6); ++corner) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size() && d < 6; ++d)
      if (corner >> d & 1) at += (shape[d] - 1) * strides[d];
    chosen.insert(at);
  }
  Rng rng(seed);
  const auto near_border = [&](std::int64_t extent) {
    const std::int64_t away = rng.below(std::min(extent, kBorder));
    return rng.below(2) == 0 ? away : extent - 1 - away;
  };
  while (static_cast<std::int64_t>(chosen.size()) < std::min(most, count)) {
    const bool anywhere = chosen.size() % 2 == 0;
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
      at += strides[d] * (anywhere || rng.below(2) == 0 ? rng.below(shape[d]) : near_border(shape[d]));
    chosen.insert(at);
    const std::int64_t row = at - at % shape.back();
    for (std::int64_t k = 1; k < of_a_row && std::ssize(chosen) < most; ++k)
      chosen.insert(row + rng.below(shape.back()));
  }
  return {chosen.begin(), chosen.end()};
}

std::string index_text(std::int64_t at, const Shape& shape) {
  std::string text;
  for (std::int64_t stride : row_major_strides(shape)) {
    text += (text.empty() ? "[" : ", ") + std::to_string(at / stride);
    at %= stride;
  }
  return text.empty() ? "[]" : text + "]";
}

Tensor tensor_of(const std::string& bytes, const TensorType& type) {
  Tensor t(type.dtype, type.shape);
  std::memcpy(t.data(), bytes.data(), bytes.size());
  return t;
}

Tensor at_elements(const Tensor& whole, const std::vector<std::int64_t>& elements) {
  Tensor t(whole.dtype(), {static_cast<std::int64_t>(elements.size())});
  const bool exact = !is_float(whole.dtype());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (exact)
      t.set_integer(static_cast<std::int64_t>(i), whole.integer(elements[i]));
    else
      t.set(static_cast<std::int64_t>(i), whole.get(elements[i]));
  }
  return t;
}

bool mostly_undefined(const Tensor& values) {
  std::int64_t undefined = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) undefined += std::isnan(values.get(i));
  return 4 * undefined > values.size();
}

}  // namespace

ArgumentSpec spec_of(const Op& op, std::uint64_t seed) {
  const auto& placeholder = std::get<Placeholder>(op.def);
  ArgumentSpec spec;
  spec.role = placeholder.constant ? ArgumentRole::constant : ArgumentRole::activation;
  spec.dtype = op.dtype;
  spec.bytes = num_elements(op.shape) * size_of(op.dtype);
  spec.seed = seed;
  spec.index_bound = placeholder.index_bound;
  return spec;
}

ArgumentSpec spec_of(const Op& op, std::uint64_t seed, std::uint64_t number) {
  const ArgumentSpec made = spec_of(op, seed);
  return number == 0 ? made : given_spec(made, number);
}

Tensor make_tensor(const ArgumentSpec& spec, const Shape& shape) {
  Tensor t(spec.dtype, shape);
  WHET_CHECK(t.bytes() == spec.bytes);
  fill_argument(spec, static_cast<std::byte*>(t.data()));
  return t;
}

double tolerance_of(const ComputeDag& dag, DType output) {
  // Floats that differ a little may be rounded to whole numbers that differ by one. Of bytes that happens to one in some 10^5.
  if (output == DType::i16 && rounds_to_i16(dag)) return 0x1p-8;
  if (!is_float(output)) return 0;
  // A sum of K random terms errs by about sqrt(K) roundings; the factor leaves room for any order of summing and for
  // the polynomials of exp, erf and the like. Numbers of bf16 are computed in f32 and rounded as the definition rounds them, so that a
  // difference of the sums moves few of them, by one step of bf16, which is two of its roundings; the double is left for what is
  // computed of them.
  constexpr double kStep = 4;
  double growth = 128, worst = output == DType::bf16 ? rounding(DType::f32) : rounding(output), steps = 0;
  for (const Op& op : dag.ops) {
    if (is_float(op.dtype) && op.dtype != DType::bf16) worst = std::max(worst, rounding(op.dtype));
    if (op.is_placeholder()) continue;
    if (rounds_to_bf16(op.element().body)) steps += kStep * rounding(DType::bf16);
    double length = 1;
    for (const Axis& axis : op.element().reduce_axes) length *= static_cast<double>(axis.extent);
    if (length > 1) growth += 8 * std::sqrt(length);
  }
  return growth * worst + steps;
}

namespace {

/// `evaluate_at` on two cores: nothing is timed on them meanwhile.
Result<Tensor> evaluate_side_by_side(const ComputeDag& dag, const std::vector<Tensor>& inputs, OpId id,
                                     const std::vector<std::int64_t>& elements) {
  const auto middle = elements.begin() + static_cast<std::ptrdiff_t>(elements.size() / 2);
  Result<Tensor> second = Tensor();
  std::thread other([&] { second = evaluate_at(dag, inputs, id, {middle, elements.end()}); });
  const Result<Tensor> first = evaluate_at(dag, inputs, id, {elements.begin(), middle});
  other.join();
  if (!first.ok()) return first.error();
  if (!second.ok()) return second.error();
  Tensor all(first->dtype(), {first->size() + second->size()});
  std::memcpy(all.data(), first->data(), static_cast<std::size_t>(first->bytes()));
  std::memcpy(static_cast<std::byte*>(all.data()) + first->bytes(), second->data(),
              static_cast<std::size_t>(second->bytes()));
  return all;
}

}  // namespace

Result<Reference> Reference::make(const ComputeDag& dag, std::uint64_t seed, const TaskInputs& given) {
  const std::int64_t of_a_row = has_sums_of_sums(dag) ? kSpotsOfARow : 1;
  Reference reference;
  for (bool positive : {false, true}) {
    reference = {};
    std::vector<Tensor> inputs;
    for (const Op& op : dag.ops) {
      if (!op.is_placeholder()) continue;
      ArgumentSpec spec = spec_of(op, hash_combine(seed, inputs.size()), given.number(inputs.size()));
      if (positive) spec.low = 0.25;
      inputs.push_back(make_tensor(spec, op.shape));
      reference.inputs_.push_back(spec);
    }
    std::vector<Tensor> whole;
    if (flops(dag) <= kWholeFlops) {
      WHET_TRY(whole, evaluate(dag, inputs));
    }
    bool undefined = false;
    for (std::size_t k = 0; k < dag.outputs.size(); ++k) {
      const Op& op = dag.op(dag.outputs[k]);
      Output output{op.name, {op.dtype, op.shape}, tolerance_of(dag, op.dtype), {}, {}, {}};
      if (!whole.empty()) {
        output.values = whole[k];
      } else {
        output.elements = spots(op.shape, hash_combine(seed, k), kSpots, of_a_row);
        WHET_TRY(output.values, evaluate_side_by_side(dag, inputs, dag.outputs[k], output.elements));
      }
      undefined |= is_float(op.dtype) && mostly_undefined(output.values);
      reference.outputs_.push_back(std::move(output));
    }
    if (!undefined) break;
  }
  return reference;
}

namespace {

std::string difference_text(const std::string& name, const Shape& shape, const Difference& d, double tolerance,
                            std::int64_t compared) {
  char numbers[160];
  std::snprintf(
      numbers, sizeof numbers,
      " differs by %.3g at %s where the largest magnitude is %.3g (tolerance %.1e); %lld of %lld elements are wrong",
      d.max_abs, index_text(d.where, shape).c_str(), d.largest, tolerance, static_cast<long long>(d.mismatches),
      static_cast<long long>(compared));
  return "output `" + name + "`" + numbers;
}

}  // namespace

std::string Reference::compare(const Output& output, const Tensor& got, double rounded) {
  const double tolerance = output.tolerance + rounded;
  const Tensor known = output.elements.empty() ? got : at_elements(got, output.elements);
  Difference d = whet::compare(known, output.values, tolerance);
  if (!output.elements.empty() && d.where >= 0) d.where = output.elements[static_cast<std::size_t>(d.where)];
  std::int64_t known_count = known.size();
  if (d.mismatches == 0 && output.passed) {
    d = whet::compare(got, *output.passed, 2 * tolerance);
    known_count = got.size();
  }
  if (d.mismatches == 0) return "";
  return difference_text(output.name, output.type.shape, d, tolerance, known_count);
}

std::vector<AskedOutput> Reference::asked(const Shape& within, bool passed, Precision precision) const {
  std::vector<AskedOutput> asked;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const Output& output = outputs_[k];
    const Shape& shape = output.type.shape;
    const std::int64_t size = size_of(output.type.dtype);
    AskedOutput one;
    one.dtype = output.type.dtype;
    one.used_bytes = static_cast<std::uint64_t>((within.empty() ? num_elements(shape) : shape.back()) * size);
    one.row_bytes = within.empty() ? one.used_bytes : static_cast<std::uint64_t>(within.back() * size);
    one.passed = static_cast<std::uint32_t>(k);
    one.tolerance = 2 * (output.tolerance + tolerance_of(precision));
    const bool whole = output.elements.empty();
    for (const std::int64_t at : whole ? spots(shape, k + 1, passed ? kSpots : kFirstSpots) : output.elements)
      one.spots.push_back(static_cast<std::uint32_t>(at));
    asked.push_back(std::move(one));
  }
  return asked;
}

std::string Reference::compare(const Output& output, const AskedOutput& asked, const SeenOutput& seen, double rounded) {
  const Shape& shape = output.type.shape;
  const TensorType type{output.type.dtype, {static_cast<std::int64_t>(asked.spots.size())}};
  const Tensor got = tensor_of(seen.spots, type);
  const std::vector<std::int64_t> elements(asked.spots.begin(), asked.spots.end());
  const Tensor want = output.elements.empty() ? at_elements(output.values, elements) : output.values;
  const double tolerance = output.tolerance + rounded;
  Difference d = whet::compare(got, want, tolerance);
  if (d.mismatches > 0) {
    d.where = elements[static_cast<std::size_t>(d.where)];
    return difference_text(output.name, shape, d, tolerance, got.size());
  }
  if (seen.mismatches == 0) return "";
  d = {seen.max_abs, seen.largest, 0, std::clamp<std::int64_t>(seen.where, 0, num_elements(shape) - 1),
       seen.mismatches};
  return difference_text(output.name, shape, d, tolerance, num_elements(shape));
}

std::string Reference::compare(const std::vector<AskedOutput>& asked, const SpotsReply& reply, const Shape& within,
                               Precision precision) const {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const std::int64_t stray = reply.outputs[k].stray_row;
    if (stray >= 0) return "it wrote beside its part of " + to_string(within) + ", in row " + std::to_string(stray);
    std::string difference = compare(outputs_[k], asked[k], reply.outputs[k], tolerance_of(precision));
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string Reference::compare(const std::vector<std::string>& outputs, Precision precision) {
  const double rounded = tolerance_of(precision);
  if (outputs.size() != outputs_.size())
    return "the kernel has " + std::to_string(outputs.size()) + " outputs, the task " + std::to_string(outputs_.size());
  std::vector<Tensor> got;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto expected = num_elements(outputs_[k].type.shape) * size_of(outputs_[k].type.dtype);
    if (static_cast<std::int64_t>(outputs[k].size()) != expected)
      return "output `" + outputs_[k].name + "` has " + std::to_string(outputs[k].size()) + " bytes, not " +
             std::to_string(expected);
    got.push_back(tensor_of(outputs[k], outputs_[k].type));
    if (std::string difference = compare(outputs_[k], got.back(), rounded); !difference.empty()) return difference;
  }
  // Later kernels are compared with one that is as exact as they are.
  for (std::size_t k = 0; k < got.size() && rounded == 0; ++k)
    if (!outputs_[k].passed && !outputs_[k].elements.empty()) outputs_[k].passed = got[k];
  return "";
}

}  // namespace whet
