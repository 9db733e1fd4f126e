#include "formats/zip_stream.h"

#include <fmt/ranges.h>
#include <zip.h>

#include <string_view>
#include <utility>

#include "base/error.h"

namespace plimsoll::formats {
namespace {

struct CloseArchive {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
using ReadArchive = std::unique_ptr<zip_t, CloseArchive>;

struct CloseMember {
  void operator()(zip_file_t* member) const { ::zip_fclose(member); }
};
using Member = std::unique_ptr<zip_file_t, CloseMember>;

ReadArchive open_archive(const std::filesystem::path& path) {
  int code = ZIP_ER_OK;
  ReadArchive archive(::zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  ::zip_error_init_with_code(&error, code);
  const std::string words = ::zip_error_strerror(&error);
  ::zip_error_fini(&error);
  fail(ErrorKind::input,
       "{} cannot be read as a zip archive (npz): {}; if it was copied or "
       "downloaded, fetch it again",
       path.string(), words);
}

std::vector<std::string> list_members(zip_t* archive) {
  std::vector<std::string> members;
  const zip_int64_t count = ::zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = ::zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name != nullptr) members.emplace_back(name);
  }
  return members;
}

// The name of a compression method that numpy does not write but other programs do.
std::string method_words(unsigned method) {
  switch (method) {
    case ZIP_CM_BZIP2:
      return "bzip2";
    case ZIP_CM_LZMA:
      return "lzma";
    case ZIP_CM_DEFLATE64:
      return "deflate64";
    default:
      return fmt::format("method {}", method);
  }
}

class ZipMemberStream final : public ByteStream {
 public:
  ZipMemberStream(const std::filesystem::path& path, const std::string& member)
      : ByteStream(fmt::format("{}, member {}", path.string(), member)),
        fd_(open_regular_file(path)),
        broom_(fd_.get()),
        archive_(open_archive(path)) {
    const zip_int64_t index = ::zip_name_locate(archive_.get(), member.c_str(), 0);
    if (index < 0) {
      fail(ErrorKind::input, "{} has no member {}; it has: {}", path.string(), member,
           fmt::join(list_members(archive_.get()), ", "));
    }
    check_readable(static_cast<zip_uint64_t>(index));
    member_.reset(::zip_fopen_index(archive_.get(), static_cast<zip_uint64_t>(index), 0));
    if (!member_) fail_at(::zip_strerror(archive_.get()));
  }

 private:
  void check_readable(zip_uint64_t index) const {
    zip_stat_t status;
    if (::zip_stat_index(archive_.get(), index, 0, &status) != 0) {
      fail_at(::zip_strerror(archive_.get()));
    }
    if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) && status.encryption_method != ZIP_EM_NONE) {
      fail(ErrorKind::input, "{} is encrypted; write the archive again without a password", name());
    }
    const bool plain = !(status.valid & ZIP_STAT_COMP_METHOD) ||
                       status.comp_method == ZIP_CM_STORE || status.comp_method == ZIP_CM_DEFLATE;
    if (!plain) {
      fail(ErrorKind::input,
           "{} is compressed by {}; only stored and deflated members are read, as "
           "np.savez and np.savez_compressed write them",
           name(), method_words(status.comp_method));
    }
  }

  size_t read_some(std::span<std::byte> bytes) override {
    const zip_int64_t count = ::zip_fread(member_.get(), bytes.data(), bytes.size());
    if (count < 0) {
      zip_error_t* error = ::zip_file_get_error(member_.get());
      if (::zip_error_code_zip(error) == ZIP_ER_READ) {
        fail_errno("read", name(), ::zip_error_code_system(error));
      }
      fail_at(::zip_error_strerror(error));
    }
    broom_.note_read(static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }

  [[noreturn]] void fail_at(std::string_view what) const {
    fail(ErrorKind::input, "{}, byte {}: {}; the file is damaged, fetch it again", name(),
         position(), what);
  }

  Fd fd_;  // libzip keeps its own to itself; this one is for the broom
  CacheBroom broom_;
  ReadArchive archive_;
  Member member_;  // after the archive: it ends first
};

}  // namespace

std::vector<std::string> zip_members(const std::filesystem::path& archive) {
  open_regular_file(archive);
  return list_members(open_archive(archive).get());
}

std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& archive,
                                            const std::string& member) {
  return std::make_unique<ZipMemberStream>(archive, member);
}

}  // namespace plimsoll::formats
