// A device that has failed says so at every call. Who feeds it must not end the program over that.
#include "train/feeder.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace plimsoll::train {
namespace {

constexpr c10::DeviceType kBroken = c10::DeviceType::IPU;  // which no libtorch here knows

struct BrokenDevice final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kBroken; }
  c10::Device exchangeDevice(c10::Device device) const override { return device; }
  c10::Device getDevice() const override { return {kBroken, 0}; }
  void setDevice(c10::Device /*device*/) const override {}
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::Stream getStream(c10::Device device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream& /*stream*/, c10::DeviceIndex /*index*/,
              c10::EventFlag /*flag*/) const override {
    *event = this_event();
  }
  bool queryEvent(void* /*event*/) const override { TORCH_CHECK(false, "illegal memory access"); }
  void destroyEvent(void* /*event*/, c10::DeviceIndex /*index*/) const noexcept override {}

 private:
  static void* this_event() {
    static int event = 0;
    return &event;
  }
};
C10_REGISTER_GUARD_IMPL(IPU, BrokenDevice);

TEST(FinishCopy, ReturnsWhereTheDeviceHasFailed) {
  c10::Event copied(kBroken);
  copied.record(c10::Stream(c10::Stream::DEFAULT, c10::Device(kBroken, 0)));
  EXPECT_THROW(copied.query(), c10::Error);
  finish_copy(copied);
}

}  // namespace
}  // namespace plimsoll::train
