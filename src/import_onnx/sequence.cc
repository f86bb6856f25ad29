#include "import/parts/shape.h"
#include "import_onnx/rows.h"

// A sequence is a list of values while importing; nothing of it is left in the graph. Where its elements are must be
// known.

namespace whet {
namespace {

/// Position `i` as the file gives it, counted from 0; `count` positions exist.
Result<std::size_t> position(OnnxSite& site, std::size_t i, std::size_t count) {
  WHET_TRY(const Ints given, site.known_integers(i, "position"));
  if (given.size() != 1) return site.error("its position is a list of " + std::to_string(given.size()));
  const auto extent = static_cast<std::int64_t>(count);
  if (given[0] >= -extent && given[0] < extent) {
    return static_cast<std::size_t>(given[0] < 0 ? given[0] + extent : given[0]);
  }
  return site.error("position " + std::to_string(given[0]) + " does not exist in a sequence of " +
                    std::to_string(count));
}

Status import_sequence_empty(OnnxSite& site) {
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", DType::f32));
  return site.give_sequence(dtype, {});
}

Status import_sequence_construct(OnnxSite& site, const ValueIds& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (site.dtype(i) == site.dtype(0)) continue;
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(values[i])) + " beside " +
                      to_string(site.type(values[0])));
  }
  return site.give_sequence(site.dtype(0), values);
}

Status import_sequence_insert(OnnxSite& site, ValueIds values, ValueId x) {
  if (site.is_sequence(x) || site.dtype(x) != site.dtype(0)) {
    return site.error("inserts " + (site.is_sequence(x) ? "a sequence" : to_string(site.type(x))) +
                      " into a sequence of " + std::string(name_of(site.dtype(0))));
  }
  std::size_t at = values.size();
  if (site.has(2)) {
    // One more place than elements: behind the last. A negative one counts from the elements.
    WHET_TRY(const Ints given, site.known_integers(2, "position"));
    const auto count = static_cast<std::int64_t>(values.size());
    if (given.size() != 1 || given[0] < -count || given[0] > count) {
      return site.error("inserts at " + (given.size() == 1 ? "position " + std::to_string(given[0]) : "a list") +
                        " of a sequence of " + std::to_string(count));
    }
    at = static_cast<std::size_t>(given[0] < 0 ? given[0] + count : given[0]);
  }
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(at), x);
  return site.give_sequence(site.dtype(0), values);
}

Status import_sequence_erase(OnnxSite& site, ValueIds values) {
  if (values.empty()) return site.error("erases from an empty sequence");
  std::size_t at = values.size() - 1;
  if (site.has(1)) {
    WHET_TRY(at, position(site, 1, values.size()));
  }
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(at));
  return site.give_sequence(site.dtype(0), values);
}

Status import_sequence_at(OnnxSite& site, const ValueIds& values) {
  WHET_TRY(const std::size_t at, position(site, 1, values.size()));
  return site.pass(values[at]);
}

Status import_sequence_length(OnnxSite& site, const ValueIds& values) {
  return site.give_constant(Tensor::of<std::int64_t>(DType::i64, {}, {static_cast<std::int64_t>(values.size())}));
}

/// Parts of the extents that are listed, or of one size; single elements may lose the axis.
Status import_split_to_sequence(OnnxSite& site, ValueId whole, std::int64_t axis, bool keep) {
  const bool is_listed = site.has(1) && site.rank(1) > 0;
  Ints parts = {1};
  if (site.has(1)) {
    WHET_TRY(parts, site.known_integers(1, "list of parts"));
  }
  if (!is_listed) {
    WHET_TRY(parts, extents_of_parts(site, site.shape(whole)[static_cast<std::size_t>(axis)], parts[0]));
  }
  WHET_TRY(ValueIds values, split(site, whole, axis, parts));
  for (std::size_t i = 0; i < values.size() && !keep && !site.has(1); ++i) {
    WHET_TRY(values[i], squeezed(site, values[i], Ints{axis}));
  }
  return site.give_sequence(site.dtype(0), values);
}

Status import_concat_from_sequence(OnnxSite& site, const ValueIds& values, std::int64_t given, bool new_axis) {
  if (values.empty()) return site.error("concatenates an empty sequence");
  if (new_axis) return site.give(stacked(site, values, given));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(values[0])));
  return values.size() == 1 ? site.pass(values[0]) : site.give(ConcatOperator{axis}, values);
}

/// A body for each element of the first sequence; of other sequences the elements at the same place, of tensors the whole.
Status import_sequence_map(OnnxSite& site, const ValueIds& first, const OnnxBody& body) {
  std::vector<ValueIds> results(site.output_count());
  for (std::size_t k = 0; k < first.size(); ++k) {
    ValueIds inputs;
    for (std::size_t i = 0; i < site.input_count(); ++i) {
      if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
      WHET_RETURN_IF_ERROR(site.count_inlined());  // a body without nodes counts too
      const ValueIds* values = site.graph().sequence(site.in(i));
      if (values != nullptr && values->size() != first.size()) {
        return site.error("maps sequences of " + std::to_string(first.size()) + " and " +
                          std::to_string(values->size()) + " elements");
      }
      inputs.push_back(values == nullptr ? site.in(i) : (*values)[k]);
    }
    WHET_TRY(const ValueIds outputs, site.inlined(*body, inputs));
    if (outputs.size() < results.size()) {
      return site.error("its body has " + std::to_string(outputs.size()) + " outputs; the node has " +
                        std::to_string(results.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!outputs[i].valid()) return site.error("nothing defines output " + std::to_string(i) + " of its body");
      results[i].push_back(outputs[i]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const DType dtype = results[i].empty() ? site.type(site.in(0)).dtype : site.type(results[i][0]).dtype;
    WHET_RETURN_IF_ERROR(site.give_sequence(dtype, results[i], i));
  }
  return ok_status();
}

// ---- Optional values: whether one is there is known while importing.

/// Without an operand, a value that is not there; the type that it would have is an attribute.
Status import_optional(OnnxSite& site) { return site.has(0) ? site.pass(site.in(0)) : site.give_absent(); }

Status import_optional_has_element(OnnxSite& site) {
  const bool there = site.has(0) && !site.graph().is_absent(site.in(0));
  return site.give_constant(Tensor::of<std::int64_t>(DType::boolean, {}, {there ? 1 : 0}));
}

Status import_optional_get_element(OnnxSite& site, ValueId x) {
  return site.graph().is_absent(x) ? site.error("takes an optional value that is not there") : site.pass(x);
}

}  // namespace

OnnxRows onnx_sequence() {
  static constexpr OnnxRow kRows[] = {
      {"ConcatFromSequence", 11, "values[] @axis @new_axis=0", calls<import_concat_from_sequence>},
      {"Optional", 15, "x[]? ~type", calls<import_optional>},
      {"OptionalGetElement", 15, "x[]", calls<import_optional_get_element>},
      {"OptionalHasElement", 15, "x[]?", calls<import_optional_has_element>},
      {"SequenceAt", 11, "values[] position", calls<import_sequence_at>},
      {"SequenceConstruct", 11, "values...", calls<import_sequence_construct>},
      {"SequenceEmpty", 11, "@dtype?", calls<import_sequence_empty>},
      {"SequenceErase", 11, "values[] position?", calls<import_sequence_erase>},
      {"SequenceInsert", 11, "values[] x[] position?", calls<import_sequence_insert>},
      {"SequenceLength", 11, "values[]", calls<import_sequence_length>},
      {"SequenceMap", 17, "values[] @body others[]...?", calls<import_sequence_map>},
      {"SplitToSequence", 11, "x @axis(x)=0 @keepdims=1 parts?", calls<import_split_to_sequence>},
  };
  return kRows;
}

}  // namespace whet
