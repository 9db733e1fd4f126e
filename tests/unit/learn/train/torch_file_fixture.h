// A file of torch.save in a folder of its own, for the tests of train/torch_file.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/ledger.h"
#include "temp_folder.h"
#include "train/python.h"
#include "train/torch_file.h"

namespace plimsoll::train {

class TorchFile : public testing::Test {
 protected:
  using Names = std::vector<std::string>;
  static at::Tensor range(int64_t count, at::ScalarType type) { return at::arange(count).to(type); }
  static void expect_same(const at::Tensor& got, const at::Tensor& wanted) {
    EXPECT_EQ(got.scalar_type(), wanted.scalar_type());
    EXPECT_EQ(got.sizes(), wanted.sizes());
    EXPECT_TRUE(at::equal(got, wanted));
  }

  PyDict round_trip(const PyDict& dict) {
    write_torch_file(path_, dict);
    return read_torch_file(path_, ledger_);
  }
  PyValue round_trip(PyValue value) {
    return round_trip(PyDict{{"value", std::move(value)}}).at("value");
  }

  void expect_python(const std::string& code) { train::expect_python(folder_.path(), code); }
  static bool has_python() { return !python_with_torch().empty(); }

  // The pickle alone, in an archive without tensors.
  void write_pickle_file(std::string_view pickle) {
    write_zip({{"archive/data.pkl", std::string(pickle)}});
  }
  void write_zip(const std::vector<std::pair<std::string, std::string>>& members,
                 zip_int32_t method = ZIP_CM_STORE) {
    zip_t* archive = ::zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    ASSERT_NE(archive, nullptr);
    for (const auto& [name, bytes] : members) {
      zip_source_t* source = ::zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
      const zip_int64_t index = ::zip_file_add(archive, name.c_str(), source, 0);
      ASSERT_GE(index, 0);
      ::zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0);
    }
    ASSERT_EQ(::zip_close(archive), 0);
  }
  void expect_refused(std::vector<std::string> parts) {
    parts.push_back(path_.string() + " cannot be read as a file of torch.save");
    expect_error(ErrorKind::input, parts, [&] { read_torch_file(path_, ledger_); });
  }

  memory::Ledger ledger_{uint64_t{1} << 30};
  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "last.pth";
};

}  // namespace plimsoll::train
