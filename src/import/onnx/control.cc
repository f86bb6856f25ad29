#include <algorithm>
#include <limits>

#include "import/onnx/rows.h"

// Branches and loops vanish while importing.

namespace whet {
namespace {

constexpr std::int64_t kMostRounds = 4096;

Status give_all(OnnxSite& site, const ValueIds& values) {
  if (values.size() < site.output_count()) {
    return site.error("its body has " + std::to_string(values.size()) + " outputs; the node has " +
                      std::to_string(site.output_count()));
  }
  for (std::size_t i = 0; i < site.output_count(); ++i) WHET_RETURN_IF_ERROR(site.pass(values[i], i));
  return ok_status();
}

/// Both branches computed, and one of the two chosen; nothing when they differ in kind.
Result<std::optional<ValueIds>> both(OnnxSite& site, ValueId which, const OnnxSubgraph& then_branch,
                                     const OnnxSubgraph& else_branch) {
  const auto yes = site.inlined(then_branch, {}), no = site.inlined(else_branch, {});
  if (!yes.ok() || !no.ok() || yes->size() != no->size()) return std::optional<ValueIds>();
  WHET_TRY(const ValueId condition, site.add("condition", ReshapeOperator{Shape{}}, {which}));
  ValueIds chosen;
  for (std::size_t i = 0; i < yes->size(); ++i) {
    const bool lists = site.is_sequence((*yes)[i]) || site.is_sequence((*no)[i]);
    if (lists || !site.are_alike((*yes)[i], (*no)[i])) return std::optional<ValueIds>();
    WHET_TRY(const ValueId value, site.either(condition, (*yes)[i], (*no)[i]));
    chosen.push_back(value);
  }
  return std::optional(chosen);
}

/// A loop's state: the round's number, whether it goes on, and what it carries.
struct Rounds {
  std::int64_t most = kMostRounds;
  bool limited = false;  ///< by a trip count
  bool go_on = true;
};

Result<Rounds> read_rounds(OnnxSite& site, std::optional<ValueId> given_count, std::optional<ValueId> condition) {
  Rounds rounds;
  if (given_count) {
    WHET_TRY(const Ints count, site.known_integers(*given_count, "number of rounds"));
    if (count.size() != 1) return site.error("its number of rounds is a list of " + std::to_string(count.size()));
    // The largest number is none, as torch writes `while`: the condition ends such a loop.
    rounds.limited = count[0] != std::numeric_limits<std::int64_t>::max() || !condition;
    if (rounds.limited) rounds.most = std::max<std::int64_t>(count[0], 0);
    if (rounds.most > kMostRounds) {
      return site.error("has " + std::to_string(count[0]) + " rounds; at most " + std::to_string(kMostRounds) +
                        " are supported");
    }
  }
  if (condition) {
    WHET_TRY(const double goes_on, site.known_number(*condition, "condition"));
    rounds.go_on = goes_on != 0;
  }
  return rounds;
}

/// The rows that a loop collected, side by side along a new axis.
Result<ValueId> stacked(OnnxSite& site, const ValueIds& rows, std::int64_t axis = 0) {
  ValueIds parts;
  for (ValueId row : rows) {
    Shape shape = site.type(row).shape;
    if (axis > static_cast<std::int64_t>(shape.size())) return site.error("its rows differ in rank");
    shape.insert(shape.begin() + axis, 1);
    WHET_TRY(const ValueId part, site.add("row", ReshapeOperator{shape}, {row}));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  return site.add("rows", ConcatOperator{axis}, parts);
}

/// One copy of a loop's body: whether it goes on, what it carries, and a row of each of what it collects.
Result<ValueIds> one_round(OnnxSite& site, const OnnxSubgraph& body, std::int64_t round, const ValueIds& carried) {
  Tensor number(DType::i64, {});
  number.set_integer(0, round);
  ValueIds inputs = {site.add_constant("round", number), site.add_scalar("goes_on", DType::boolean, 1)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return site.inlined(body, inputs);
}

/// What a loop of no rounds collects. A round that nobody reads tells the types of the rows.
Result<ValueIds> empty_rows(OnnxSite& site, const OnnxSubgraph& body, const ValueIds& carried) {
  WHET_TRY(const ValueIds round, one_round(site, body, 0, carried));
  ValueIds rows;
  for (std::size_t i = 1 + carried.size(); i < round.size(); ++i) {
    TensorType type = site.type(round[i]);
    type.shape.insert(type.shape.begin(), 0);
    rows.push_back(site.add_constant("rows", Tensor(type.dtype, type.shape)));
  }
  return rows;
}

/// Element `i` of `x` along `axis`, which goes.
Result<ValueId> element(OnnxSite& site, ValueId x, std::int64_t axis, std::int64_t i) {
  Shape shape = site.type(x).shape;
  SliceOperator op{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  op.starts[static_cast<std::size_t>(axis)] = i;
  op.shape[static_cast<std::size_t>(axis)] = 1;
  shape.erase(shape.begin() + axis);
  WHET_TRY(const ValueId slice, site.add("slice", op, {x}));
  return site.add("element", ReshapeOperator{shape}, {slice});
}

/// A tensor that Scan reads or writes, one step after the other.
struct Lane {
  std::int64_t axis = 0;
  bool backwards = false;
};

struct Scan {
  OnnxBody body;
  ValueIds states, sequences;
  std::vector<Lane> in, out;
  std::int64_t steps = 0;
};

Status read_directions(OnnxSite& site, const char* attribute, std::vector<Lane>& lanes) {
  WHET_TRY(const Ints values, site.entries(attribute, lanes.size(), 0, 0));
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].backwards = values[i] != 0;
  return ok_status();
}

Status read_axes(OnnxSite& site, const char* attribute, std::vector<Lane>& lanes) {
  WHET_TRY(const Ints values, site.entries(attribute, lanes.size(), 0, -kMaxElements));
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].axis = values[i];
  return ok_status();
}

/// The body and the inputs from `first` on: states, and then "num_scan_inputs" sequences.
Result<Scan> read_scan(OnnxSite& site, std::size_t first, const OnnxBody& body, std::int64_t count) {
  Scan scan{.body = body};
  const auto given = static_cast<std::int64_t>(site.input_count()) - static_cast<std::int64_t>(first);
  if (count < 1 || count > given) {
    return site.error("attribute \"num_scan_inputs\" is " + std::to_string(count) + "; the node has " +
                      std::to_string(site.input_count()) + " inputs");
  }
  const std::size_t sequences = site.input_count() - static_cast<std::size_t>(count);
  for (std::size_t i = first; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    (i < sequences ? scan.states : scan.sequences).push_back(site.in(i));
  }
  if (scan.body->outputs.size() < scan.states.size()) {
    return site.error("its body has " + std::to_string(scan.body->outputs.size()) + " outputs; expected at least " +
                      std::to_string(scan.states.size()));
  }
  scan.in.resize(scan.sequences.size());
  scan.out.resize(scan.body->outputs.size() - scan.states.size());
  return scan;
}

Status expect_batches(OnnxSite& site, const ValueIds& values, std::int64_t batch, std::size_t rank) {
  for (ValueId x : values) {
    const Shape& shape = site.type(x).shape;
    if (shape.size() >= rank && shape[0] == batch) continue;
    return site.error("scans " + to_string(site.type(x)) + "; expected a batch of " + std::to_string(batch) +
                      (rank > 1 ? ", and steps of a sequence" : ""));
  }
  return ok_status();
}

/// The sequences are equally long, by their axes counted from 0; all copies of a batch's steps are counted.
Status count_steps(OnnxSite& site, Scan& scan, std::int64_t batch = 1) {
  for (std::size_t k = 0; k < scan.sequences.size(); ++k) {
    const Shape& shape = site.type(scan.sequences[k]).shape;
    const std::int64_t extent = shape[static_cast<std::size_t>(scan.in[k].axis)];
    if (k == 0) scan.steps = extent;
    if (extent != scan.steps) {
      return site.error("its sequences have " + std::to_string(scan.steps) + " and " + std::to_string(extent) +
                        " steps");
    }
  }
  const std::int64_t most = kMostRounds / batch;
  if (scan.steps < 1 || scan.steps > most) {
    return site.error("has " + std::to_string(scan.steps) + " steps; 1 to " + std::to_string(most) + " are supported");
  }
  constexpr std::int64_t kMostParts = std::int64_t{1} << 17;
  const std::size_t values = scan.states.size() + scan.sequences.size() + scan.out.size();
  if (batch * (scan.steps + 1) <= kMostParts / static_cast<std::int64_t>(values)) return ok_status();
  return site.error("scans " + std::to_string(values) + " values in " + std::to_string(scan.steps) +
                    " steps; at most " + std::to_string(kMostParts) + " parts of values are supported");
}

/// One copy of the body a step: the last states, and what the steps gave.
Result<ValueIds> scanned(OnnxSite& site, const Scan& scan) {
  ValueIds results = scan.states;
  std::vector<ValueIds> rows(scan.out.size());
  for (std::int64_t t = 0; t < scan.steps; ++t) {
    ValueIds inputs(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(scan.states.size()));
    for (std::size_t k = 0; k < scan.sequences.size(); ++k) {
      const std::int64_t at = scan.in[k].backwards ? scan.steps - 1 - t : t;
      WHET_TRY(const ValueId one, element(site, scan.sequences[k], scan.in[k].axis, at));
      inputs.push_back(one);
    }
    WHET_TRY(const ValueIds outputs, site.inlined(*scan.body, inputs));
    std::copy_n(outputs.begin(), scan.states.size(), results.begin());
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(outputs[scan.states.size() + k]);
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (scan.out[k].backwards) std::reverse(rows[k].begin(), rows[k].end());
    WHET_TRY(const std::int64_t axis, site.resolve_axis(scan.out[k].axis, site.type(rows[k][0]).shape.size() + 1));
    WHET_TRY(const ValueId all, stacked(site, rows[k], axis));
    results.push_back(all);
  }
  return results;
}

Status import_if(OnnxSite& site, ValueId which, const OnnxBody& then_branch, const OnnxBody& else_branch) {
  if (site.dtype(which) != DType::boolean || num_elements(site.shape(which)) != 1) {
    return site.error("its condition is " + to_string(site.type(which)) + "; expected one boolean");
  }
  if (site.constant(which) == nullptr) {
    WHET_TRY(const auto chosen, both(site, which, *then_branch, *else_branch));
    if (chosen) return give_all(site, *chosen);
  }
  WHET_TRY(const double condition, site.known_number(0, "condition"));
  WHET_TRY(const ValueIds values, site.inlined(condition != 0 ? *then_branch : *else_branch, {}));
  return give_all(site, values);
}

/// One copy of the body a round, where the number of rounds is known.
Status import_loop(OnnxSite& site, const OnnxBody& body, std::optional<ValueId> count, std::optional<ValueId> condition,
                   ValueIds carried) {
  WHET_TRY(Rounds rounds, read_rounds(site, count, condition));
  if (body->outputs.size() < carried.size() + 1) {
    return site.error("its body has " + std::to_string(body->outputs.size()) + " outputs; expected at least " +
                      std::to_string(carried.size() + 1));
  }
  std::vector<ValueIds> rows(body->outputs.size() - 1 - carried.size());
  std::int64_t round = 0;
  for (; rounds.go_on && round < rounds.most; ++round) {
    WHET_TRY(const ValueIds outputs, one_round(site, *body, round, carried));
    WHET_TRY(rounds.go_on, site.goes_on(outputs[0]));
    std::copy_n(outputs.begin() + 1, carried.size(), carried.begin());
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(outputs[1 + carried.size() + k]);
  }
  if (rounds.go_on && !rounds.limited) {
    return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
  }
  ValueIds results = carried;
  if (round == 0 && site.output_count() > carried.size()) {
    WHET_TRY(const ValueIds nothing, empty_rows(site, *body, carried));
    results.insert(results.end(), nothing.begin(), nothing.end());
  }
  for (std::size_t k = 0; round > 0 && k < rows.size(); ++k) {
    WHET_TRY(const ValueId all, stacked(site, rows[k]));
    results.push_back(all);
  }
  return give_all(site, results);
}

Status import_scan(OnnxSite& site, const OnnxBody& body, std::int64_t count) {
  WHET_TRY(Scan scan, read_scan(site, 0, body, count));
  WHET_RETURN_IF_ERROR(read_axes(site, "scan_input_axes", scan.in));
  WHET_RETURN_IF_ERROR(read_axes(site, "scan_output_axes", scan.out));
  WHET_RETURN_IF_ERROR(read_directions(site, "scan_input_directions", scan.in));
  WHET_RETURN_IF_ERROR(read_directions(site, "scan_output_directions", scan.out));
  for (std::size_t k = 0; k < scan.in.size(); ++k) {
    WHET_TRY(scan.in[k].axis, site.resolve_axis(scan.in[k].axis, site.type(scan.sequences[k]).shape.size()));
  }
  WHET_RETURN_IF_ERROR(count_steps(site, scan));
  WHET_TRY(const ValueIds results, scanned(site, scan));
  return give_all(site, results);
}

/// In operator set 8 states and sequences are in batches: each is scanned alone.
Status import_scan_batches(OnnxSite& site, const OnnxBody& body, std::int64_t count) {
  if (site.has(0)) return site.error("gives the lengths of its sequences; only whole sequences are supported");
  WHET_TRY(Scan scan, read_scan(site, 1, body, count));
  WHET_RETURN_IF_ERROR(read_directions(site, "directions", scan.in));
  const Shape& first = site.type(scan.sequences[0]).shape;
  const std::int64_t batch = first.empty() ? 0 : first[0];
  if (batch < 1 || batch > kMostRounds) {
    return site.error("scans " + to_string(site.type(scan.sequences[0])) + "; expected a batch of 1 to " +
                      std::to_string(kMostRounds) + ", and steps of a sequence");
  }
  WHET_RETURN_IF_ERROR(expect_batches(site, scan.states, batch, 1));
  WHET_RETURN_IF_ERROR(expect_batches(site, scan.sequences, batch, 2));
  for (Lane& lane : scan.in) lane.axis = 1;
  WHET_RETURN_IF_ERROR(count_steps(site, scan, batch));
  for (Lane& lane : scan.in) lane.axis = 0;
  std::vector<ValueIds> of_batch(scan.states.size() + scan.out.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    Scan one = scan;
    for (ValueIds* list : {&one.states, &one.sequences}) {
      for (ValueId& x : *list) {
        WHET_TRY(x, element(site, x, 0, b));
      }
    }
    WHET_TRY(const ValueIds results, scanned(site, one));
    for (std::size_t k = 0; k < results.size(); ++k) of_batch[k].push_back(results[k]);
  }
  ValueIds results;
  for (const ValueIds& list : of_batch) {
    WHET_TRY(const ValueId all, stacked(site, list));
    results.push_back(all);
  }
  return give_all(site, results);
}

}  // namespace

OnnxRows onnx_control() {
  static constexpr OnnxRow kRows[] = {
      {"If", 1, "condition @then_branch @else_branch", calls<import_if>},
      {"Loop", 1, "@body number_of_rounds? condition? carried[]...?", calls<import_loop>},
      {"Scan", 8, "@body @num_scan_inputs lengths? values...? @directions?", calls<import_scan_batches>},
      {"Scan", 9,
       "@body @num_scan_inputs values...? @scan_input_axes? @scan_output_axes? @scan_input_directions? "
       "@scan_output_directions?",
       calls<import_scan>},
  };
  return kRows;
}

}  // namespace whet
