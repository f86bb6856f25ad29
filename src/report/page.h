#pragma once

#include <string>

#include "report/data.h"

namespace whet {

/// The report as one HTML file: it makes no request, works without JavaScript, follows light and dark, and prints. Every
/// picture has a sentence that names what it shows. The same data gives the same bytes.
std::string report_html(ReportData);

}  // namespace whet
