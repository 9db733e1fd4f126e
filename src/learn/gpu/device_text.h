// The text of the device code (gpu/device_store.h), for NVRTC.
#pragma once

namespace plimsoll::gpu {

extern const char* const kDeviceText;

}  // namespace plimsoll::gpu
