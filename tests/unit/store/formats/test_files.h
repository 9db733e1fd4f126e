// Input files for the tests of the readers, written byte by byte here and not by the code under
// test.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "temp_folder.h"

namespace plimsoll::formats {

inline std::string gzipped(std::string_view text) {
  z_stream deflater = {};
  constexpr int kGzip = 16;
  ::deflateInit2(&deflater, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string packed(::deflateBound(&deflater, text.size()), '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  deflater.avail_in = static_cast<uInt>(text.size());
  deflater.next_out = reinterpret_cast<Bytef*>(packed.data());
  deflater.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&deflater, Z_FINISH);
  packed.resize(deflater.total_out);
  ::deflateEnd(&deflater);
  return packed;
}

struct ZipMember {
  std::string name;
  std::string bytes;
};

// `method` is ZIP_CM_STORE or ZIP_CM_DEFLATE; members are encrypted where there is a password.
inline void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members,
                      int method = ZIP_CM_DEFLATE, const char* password = nullptr) {
  std::filesystem::create_directories(path.parent_path());
  zip_t* archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const ZipMember& member : members) {
    zip_source_t* source =
        ::zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0);
    const zip_int64_t index = ::zip_file_add(archive, member.name.c_str(), source, 0);
    ASSERT_GE(index, 0);
    const auto place = static_cast<zip_uint64_t>(index);
    ASSERT_EQ(::zip_set_file_compression(archive, place, method, 0), 0);
    if (password != nullptr) {
      ASSERT_EQ(::zip_file_set_encryption(archive, place, ZIP_EM_AES_256, password), 0);
    }
  }
  ASSERT_EQ(::zip_close(archive), 0);
}

// The bytes of an npy file around a header dict given as text.
inline std::string npy_around(std::string dict, std::string_view data, int version = 1) {
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) bytes += static_cast<char>(dict.size() >> (8 * i));
  return bytes + dict + std::string(data);
}

inline std::string npy_dict(std::string_view descr, const std::vector<uint64_t>& shape,
                            bool fortran_order = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", descr,
                     fortran_order ? "True" : "False", fmt::join(shape, ", "),
                     shape.size() == 1 ? "," : "");
}

// As np.save writes it; `values` in the order of the file.
template <typename T>
std::string npy(std::string_view descr, const std::vector<uint64_t>& shape,
                const std::vector<T>& values) {
  const std::string_view data(reinterpret_cast<const char*>(values.data()),
                              values.size() * sizeof(T));
  return npy_around(npy_dict(descr, shape), data);
}

}  // namespace plimsoll::formats
