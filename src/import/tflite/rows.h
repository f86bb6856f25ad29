#pragma once

#include "import/rows.h"
#include "import/tflite/flex.h"
#include "import/tflite/site.h"

/// The operators of TensorFlow Lite that whet reads. Each family's rows stand at the end of its file; rows.cc gathers them.
namespace whet::tflite {

struct TfliteRow {
  std::string_view op;
  Status (*import)(TfliteSite&);
};
using TfliteRows = std::span<const TfliteRow>;
/// All rows, by operator.
TfliteRows rows();
const TfliteRow* find_row(std::string_view op);
/// The name of an operator's number; a custom one's own name.
std::string operator_name(int code, const std::string& custom);

/// The options of custom operators, which are maps of FlexBuffers. Errors name the option.
Result<FlexMap> custom_map(const TfliteSite&);
Result<double> custom_number(const TfliteSite&, const FlexMap&, const std::string& name);
Result<std::int64_t> custom_integer(const TfliteSite&, const FlexMap&, const std::string& name, std::int64_t low,
                                    std::int64_t high);
/// A list of 0 .. high; not empty.
Result<std::vector<std::int64_t>> custom_integers(const TfliteSite&, const FlexMap&, const std::string& name,
                                                  std::int64_t high);

/// Operators of the bodies of branches and loops that nothing reads.
std::vector<std::string> missing_in_bodies(const TfliteModel&);

TfliteRows boxes_rows(), control_rows(), detection_rows(), elementwise_rows(), landmarks_rows(), matrix_rows(),
    media_pipe_rows(), recurrent_rows(), shape_rows(), spectrum_rows(), window_rows();

}  // namespace whet::tflite
