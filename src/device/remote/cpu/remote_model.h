#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device/cpu/opened_model.h"
#include "device/remote/model_host.h"

namespace whet {

/// Whether a file is a compiled model for the device's kind of processor, before it is sent there.
Status check_model_for(const DeviceDescription&, const std::string& path);
/// An order to models that are opened so.
ModelOrder order_with(const OpenModelOptions&);

/// Opens a compiled model on a device elsewhere, which gets the file where it does not have it. It is run and timed there; its answers
/// come here.
Result<OpenedModel> open_elsewhere(std::shared_ptr<ModelHost>, const std::string& path, const OpenModelOptions&);

}  // namespace whet
