// The text of device_store.h, device_batch.h and device_layers.h, for NVRTC.
#pragma once

namespace plimsoll::gpu {

extern const char* const kDeviceText;

}  // namespace plimsoll::gpu
