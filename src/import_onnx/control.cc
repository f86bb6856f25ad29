#include <algorithm>
#include <limits>

#include "import/parts/shape.h"
#include "import/rounds.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

/// The most rounds of a loop.
struct Limit {
  std::int64_t most = kMostRounds;
  bool is_given = false;  ///< by a trip count
};

Result<Limit> read_limit(OnnxSite& site, std::optional<ValueId> given, bool has_condition) {
  Limit limit;
  if (!given) return limit;
  WHET_TRY(const Ints count, site.known_integers(*given, "number of rounds"));
  if (count.size() != 1) return site.error("its number of rounds is a list of " + std::to_string(count.size()));
  // The largest number is none, as torch writes `while`: the condition ends such a loop.
  limit.is_given = count[0] != std::numeric_limits<std::int64_t>::max() || !has_condition;
  if (limit.is_given) limit.most = std::max<std::int64_t>(count[0], 0);
  if (limit.most <= kMostRounds) return limit;
  return site.error("has " + std::to_string(count[0]) + " rounds; at most " + std::to_string(kMostRounds) +
                    " are supported");
}

/// One copy of a loop's body: whether it goes on, what it carries, and a row of each of what it collects.
Result<ValueIds> one_round(OnnxSite& site, const OnnxSubgraph& body, std::int64_t round, const ValueIds& carried) {
  ValueIds inputs = {site.add_scalar("round", DType::i64, static_cast<double>(round)),
                     site.add_scalar("goes_on", DType::boolean, 1)};
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

/// The inputs from `first` on: states, and then `count` sequences.
Result<Scan> read_scan(OnnxSite& site, std::size_t first, const OnnxBody& body, std::int64_t count) {
  Scan scan;
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
  if (body->outputs.size() < scan.states.size()) {
    return site.error("its body has " + std::to_string(body->outputs.size()) + " outputs; expected at least " +
                      std::to_string(scan.states.size()));
  }
  scan.in.resize(scan.sequences.size());
  scan.out.resize(body->outputs.size() - scan.states.size());
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

Body body_of(OnnxSite& site, const OnnxBody& body) {
  return [&](const ValueIds& inputs) { return site.inlined(*body, inputs); };
}

Result<ValueIds> import_if(OnnxSite& site, ValueId which, const OnnxBody& then_branch, const OnnxBody& else_branch) {
  if (site.dtype(which) != DType::boolean || num_elements(site.shape(which)) != 1) {
    return site.error("its condition is " + to_string(site.type(which)) + "; expected one boolean");
  }
  Result<ValueIds> values = if_else(site, which, body_of(site, then_branch), body_of(site, else_branch));
  // Branches that cannot both be computed ask for the condition.
  if (!values.ok() && site.constant(which) == nullptr) return site.known(which, "condition").error();
  return values;
}

/// One copy of the body a round, where the most of rounds is known.
Result<ValueIds> import_loop(OnnxSite& site, const OnnxBody& body, std::optional<ValueId> count,
                             std::optional<ValueId> condition, const ValueIds& start) {
  WHET_TRY(const Limit limit, read_limit(site, count, condition.has_value()));
  Rounds rounds(start);
  // Lists are known while importing: values do not choose between them.
  const bool has_list = std::any_of(start.begin(), start.end(), [&](ValueId x) { return site.is_sequence(x); });
  if (condition && (!limit.is_given || has_list)) {
    WHET_TRY(const double is_known, site.known_number(*condition, "condition"));
    static_cast<void>(is_known);
  }
  if (condition) WHET_RETURN_IF_ERROR(rounds.follow(site, *condition, limit.is_given));
  if (body->outputs.size() < start.size() + 1) {
    return site.error("its body has " + std::to_string(body->outputs.size()) + " outputs; expected at least " +
                      std::to_string(start.size() + 1));
  }
  std::vector<ValueIds> rows(body->outputs.size() - 1 - start.size());
  while (rounds.may_go_on() && rounds.most() < limit.most) {
    WHET_TRY(const ValueIds outputs, one_round(site, *body, rounds.most(), rounds.carried()));
    const auto carried = outputs.begin() + 1, collected = carried + static_cast<std::ptrdiff_t>(start.size());
    WHET_RETURN_IF_ERROR(rounds.take(site, ValueIds(carried, collected)));
    WHET_RETURN_IF_ERROR(rounds.follow(site, outputs[0], limit.is_given));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(collected[static_cast<std::ptrdiff_t>(k)]);
  }
  if (rounds.may_go_on() && !limit.is_given) {
    return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
  }
  ValueIds results = rounds.results();
  if (rounds.most() == 0 && site.output_count() > start.size()) {
    WHET_TRY(const ValueIds nothing, empty_rows(site, *body, start));
    results.insert(results.end(), nothing.begin(), nothing.end());
  }
  for (std::size_t k = 0; rounds.most() > 0 && k < rows.size(); ++k) {
    WHET_TRY(const ValueId all, stacked(site, rows[k], 0));
    if (rounds.count()) site.set_count(all, 0, *rounds.count());
    results.push_back(all);
  }
  return results;
}

Result<ValueIds> import_scan(OnnxSite& site, const OnnxBody& body, std::int64_t count) {
  WHET_TRY(Scan scan, read_scan(site, 0, body, count));
  WHET_RETURN_IF_ERROR(read_axes(site, "scan_input_axes", scan.in));
  WHET_RETURN_IF_ERROR(read_axes(site, "scan_output_axes", scan.out));
  WHET_RETURN_IF_ERROR(read_directions(site, "scan_input_directions", scan.in));
  WHET_RETURN_IF_ERROR(read_directions(site, "scan_output_directions", scan.out));
  for (std::size_t k = 0; k < scan.in.size(); ++k) {
    WHET_TRY(scan.in[k].axis, site.resolve_axis(scan.in[k].axis, site.rank(scan.sequences[k])));
  }
  WHET_RETURN_IF_ERROR(count_steps(site, scan));
  return scanned(site, scan, body_of(site, body));
}

/// In operator set 8 states and sequences are in batches: each is scanned alone.
Result<ValueIds> import_scan_batches(OnnxSite& site, const OnnxBody& body, std::int64_t count) {
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
        WHET_TRY(x, sliced(site, x, {b}, {b + 1}, Ints{0}, {1}));
        WHET_TRY(x, squeezed(site, x, Ints{0}));
      }
    }
    WHET_TRY(const ValueIds results, scanned(site, one, body_of(site, body)));
    for (std::size_t k = 0; k < results.size(); ++k) of_batch[k].push_back(results[k]);
  }
  ValueIds results;
  for (const ValueIds& list : of_batch) {
    WHET_TRY(results.emplace_back(), stacked(site, list, 0));
  }
  return results;
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
