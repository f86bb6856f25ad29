#pragma once

#include <string_view>

#include "import/site.h"
#include "import_onnx/reader.h"

/// Element types of ONNX that whet holds in wider ones (dtype_of_onnx). INT16, UINT16 and UINT32 wrap: what is computed of them
/// is brought back into their range. UINT4 and INT4 are held in 8 bits. UINT64 from 2^63 on is a negative number, and BFLOAT16 is not
/// rounded. INT16 and BFLOAT16 are not held in others where the graph has native types.
namespace whet {

/// The standard's numbers.
constexpr std::int64_t kUint16 = 4, kInt16 = 5, kUint32 = 12, kUint64 = 13, kUint4 = 21, kInt4 = 22;

/// Whether results of a type, by the standard's number, are brought back into its range.
bool wraps(const GrowingGraph&, std::int64_t type);
/// `x`, of any type, as a type that wraps, in the type that this one is held in.
Result<ValueId> wrapped(NodeSite&, ValueId x, std::int64_t type);

/// The type that a value is of, where it is held in a wider one; else 0.
std::int64_t held_type(const GrowingGraph&, ValueId);
/// The type that the file has for a value, by the standard's number.
std::int64_t stored_type(const GrowingGraph&, ValueId);
/// Says of what a node of the model reads which types the file has for it.
void mark_held_types(GrowingGraph&, const OnnxModel&, const OnnxNode&);
/// The type of what an operator makes of `inputs`, where one of these is of it; else 0.
std::int64_t held_result(const GrowingGraph&, std::string_view op, const std::vector<ValueId>& inputs);
/// Whether an operator's result may be outside of the range of its inputs.
bool may_overflow(std::string_view op);

}  // namespace whet
