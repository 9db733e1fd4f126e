// The text of device_code.h, for NVRTC.
#pragma once

namespace plimsoll::gpu {

extern const char* const kDeviceText;

}  // namespace plimsoll::gpu
