#pragma once

#include "device/device.h"

namespace whet {

/// Answers of devices may be wrong, because of a fault or on purpose. What can be told from the answer alone becomes
/// `unknown`, with a message that says what makes no sense: a code without a name; ok without a time, or with a time that is
/// not finite or below what any device needs to start a kernel, or impossible by the device's own rates; outputs that
/// are not as many or as long as the kernel's. Messages are printable, and long ones are cut. (Wrong outputs are found by the reference.)
///   flops, bytes  what the task computes, and what it reads and writes at least once
MeasureReply sane_reply(MeasureReply, const MeasureRequest&, const DeviceInfo&, double flops, double bytes);
CheckReply sane_reply(CheckReply, const CheckRequest&);
SpotsReply sane_reply(SpotsReply, const SpotsRequest&);

}  // namespace whet
