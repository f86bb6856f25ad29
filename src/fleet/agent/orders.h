#pragma once

#include <functional>
#include <string>

#include "device/remote/model_orders.h"
#include "device/remote/remote_session.h"
#include "fleet/messages.h"
#include "fleet/nats.h"

namespace whet {

/// What a unit made of an order to compiled models.
struct ServedOrder {
  FleetAnswer answer;        ///< without the unit
  bool interrupted = false;  ///< there is no answer
};

/// Has a device carry out an order of a user, and closes the models. What the device lacks comes from the broker.
///   order  a ModelOrder, encoded
///   stops  asked often; ends the order where it turns true
ServedOrder serve_order(NatsConnection&, RemoteSession&, const std::string& user, const std::string& order,
                        const std::function<bool()>& stops);

}  // namespace whet
