// Input files for the tests of the readers, written byte by byte here and not by the code under
// test.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zip.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace plimsoll::ingest {

// A folder of its own for a test, removed with all it holds.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  // The full path of a file in it; its folders are made.
  std::filesystem::path operator/(const std::string& name) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    return file;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

template <typename Action>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(name(error.kind()), name(kind)) << error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
          << "the message: " << error.what() << "\nlacks: " << part;
    }
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace plimsoll::ingest
