#include "io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> random_bytes(size_t size) {
  const RandomStream stream(1, size);
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(stream.at(i));
  return bytes;
}

std::string checksum_of(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.update(bytes);
  return checksum.hex();
}

// Calls with(begin, size) for pieces of 1 to `largest` bytes that cover `total`.
template <typename With>
void in_random_pieces(size_t total, size_t largest, With with) {
  const RandomStream stream(2, largest);
  size_t begin = 0;
  for (uint64_t i = 0; begin < total; ++i) {
    const size_t size = std::min<size_t>(1 + below(stream.at(i), largest), total - begin);
    with(begin, size);
    begin += size;
  }
}

WrittenFile write_at_once(memory::Ledger& ledger, const fs::path& path,
                          const std::vector<std::byte>& bytes) {
  FileWriter writer(ledger, path);
  writer.append(bytes);
  return writer.finish();
}

enum class Where { disk, tmpfs };

// Each size in the usual temporary folder and on a tmpfs, which may refuse O_DIRECT.
class RoundTrip : public testing::TestWithParam<std::tuple<Where, uint64_t>> {
 protected:
  void SetUp() override {
    const auto [where, size] = GetParam();
    const fs::path parent = where == Where::tmpfs ? "/dev/shm" : fs::temp_directory_path();
    if (::access(parent.c_str(), W_OK) != 0) GTEST_SKIP() << parent << " cannot be written";
    folder_.emplace(parent);
    path_ = *folder_ / "file";
    bytes_ = random_bytes(size);
  }

  void expect_written(const WrittenFile& written) {
    EXPECT_EQ(written.bytes, bytes_.size());
    EXPECT_EQ(written.checksum, checksum_of(bytes_));
    const std::string text = read_file(path_);
    ASSERT_EQ(text.size(), bytes_.size());
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(text)), bytes_));
  }

  std::optional<TempFolder> folder_;
  fs::path path_;
  std::vector<std::byte> bytes_;
  memory::Ledger ledger_{4 * kStreamBytes};
};

TEST_P(RoundTrip, OfAFileWrittenAndReadAtOnce) {
  expect_written(write_at_once(ledger_, path_, bytes_));
  FileReader reader(ledger_, path_);
  EXPECT_EQ(reader.size_bytes(), bytes_.size());
  std::vector<std::byte> back(bytes_.size() + 10);
  EXPECT_EQ(reader.read_some(back), bytes_.size());
  back.resize(bytes_.size());
  EXPECT_EQ(back, bytes_);
  std::byte beyond = {};
  EXPECT_EQ(reader.read_some({&beyond, 1}), 0U);
}

TEST_P(RoundTrip, OfAFileWrittenAndReadInPieces) {
  {
    FileWriter writer(ledger_, path_);
    in_random_pieces(bytes_.size(), 70'000, [&](size_t begin, size_t size) {
      writer.append(std::span(bytes_).subspan(begin, size));
    });
    expect_written(writer.finish());
  }
  FileReader reader(ledger_, path_);
  std::vector<std::byte> back(bytes_.size());
  in_random_pieces(bytes_.size(), 90'000, [&](size_t begin, size_t size) {
    ASSERT_EQ(reader.read_some(std::span(back).subspan(begin, size)), size);
  });
  EXPECT_EQ(back, bytes_);
}

TEST_P(RoundTrip, ReplacesALongerFile) {
  write_at_once(ledger_, path_, random_bytes(bytes_.size() + 2 * kStreamBytes + 1));
  expect_written(write_at_once(ledger_, path_, bytes_));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RoundTrip,
                         testing::Combine(testing::Values(Where::disk, Where::tmpfs),
                                          testing::Values(0, 1, 4095, 4096, 4097, kMiB, kMiB + 1,
                                                          3 * kMiB + 5)),
                         [](const auto& param) {
                           const std::string where =
                               std::get<0>(param.param) == Where::disk ? "Disk" : "Tmpfs";
                           return where + std::to_string(std::get<1>(param.param));
                         });

// A folder of its own and a ledger with room for two streams.
class File : public testing::Test {
 protected:
  TempFolder folder_;
  fs::path path_ = folder_ / "file";
  memory::Ledger ledger_{2 * kStreamBytes};
};

TEST_F(File, IsWrittenAndReadInOneBufferEach) {
  {
    FileWriter writer(ledger_, path_);
    EXPECT_EQ(ledger_.used_bytes(), kStreamBytes);
    writer.append(random_bytes(5 * kMiB));
    EXPECT_EQ(ledger_.used_bytes(), kStreamBytes);
    writer.finish();
  }
  EXPECT_EQ(ledger_.used_bytes(), 0U);
  const FileReader reader(ledger_, path_);
  EXPECT_EQ(ledger_.used_bytes(), kStreamBytes);
}

TEST_F(File, IsRefusedABufferBeyondTheLimit) {
  memory::Ledger small(kStreamBytes - 1);
  expect_error(ErrorKind::memory, {"file buffers"}, [&] { const FileWriter writer(small, path_); });
}

TEST_F(File, KeepsValuesOfEveryType) {
  const std::vector<uint64_t> values = {1, 2, UINT64_MAX};
  FileWriter writer(ledger_, path_);
  writer.append_values(std::span<const uint64_t>(values));
  EXPECT_EQ(writer.finish().bytes, 24U);
  FileReader reader(ledger_, path_);
  std::vector<uint64_t> back(5);
  EXPECT_EQ(reader.read_values(std::span(back)), 3U);
  back.resize(3);
  EXPECT_EQ(back, values);
}

TEST_F(File, LeavesNoTraceInThePageCache) {
  struct statfs disk = {};
  ASSERT_EQ(::statfs(folder_.path().c_str(), &disk), 0);
  if (disk.f_type == TMPFS_MAGIC) GTEST_SKIP() << "the temporary folder is memory";
  constexpr size_t kSize = 8 * kMiB;
  write_at_once(ledger_, path_, random_bytes(kSize));
  {
    FileReader reader(ledger_, path_);
    std::vector<std::byte> back(kSize);
    ASSERT_EQ(reader.read_some(back), kSize);
  }
  const OpenFile file = open_uncached(path_, O_RDONLY);
  void* mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file.fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(kSize / page_bytes);
  ASSERT_EQ(::mincore(mapped, kSize, resident.data()), 0);
  ::munmap(mapped, kSize);
  const auto pages = std::ranges::count_if(resident, [](unsigned char page) { return page & 1; });
  EXPECT_LE(static_cast<size_t>(pages) * page_bytes, 2 * kStreamBytes);
}

TEST_F(File, ThatIsMissingCannotBeRead) {
  expect_error(ErrorKind::io, {"cannot open", path_.string(), "No such file"},
               [&] { const FileReader reader(ledger_, path_); });
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(File, ThatIsAFolderCannotBeRead) {
  expect_error(ErrorKind::io, {folder_.path().string(), "Is a directory"}, [&] {
    FileReader reader(ledger_, folder_.path());
    std::byte byte = {};
    reader.read_some({&byte, 1});
  });
}

TEST_F(File, CannotBeWrittenInAMissingFolder) {
  const fs::path path = folder_ / "missing/file";
  expect_error(ErrorKind::io, {"cannot open", path.string()},
               [&] { const FileWriter writer(ledger_, path); });
}

TEST_F(File, CannotBeWrittenInAReadOnlyFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ErrorKind::io, {"cannot open", path_.string(), "check its owner and permissions"},
               [&] { const FileWriter writer(ledger_, path_); });
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(File, ThatShrinksWhileItIsReadIsAnError) {
  write_at_once(ledger_, path_, random_bytes(2 * kMiB));
  FileReader reader(ledger_, path_);
  fs::resize_file(path_, kMiB + 17);
  std::vector<std::byte> back(2 * kMiB);
  expect_error(ErrorKind::io, {path_.string(), "shrank to 1048593 bytes"},
               [&] { reader.read_some(back); });
}

TEST_F(File, IsReadInFullOrNotAtAll) {
  write_at_once(ledger_, path_, random_bytes(2 * kBlockBytes));
  const OpenFile file = open_uncached(path_, O_RDONLY);
  const memory::Buffer<std::byte> buffer(ledger_, "rows", 3 * kBlockBytes);
  read_fully(file, buffer.first(kBlockBytes), kBlockBytes);
  expect_error(ErrorKind::io, {path_.string(), "ends at byte 8192, 4096 more expected"},
               [&] { read_fully(file, buffer.span(), 0); });
}

TEST_F(File, OnADeviceWithoutRoomIsADiskError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  expect_error(ErrorKind::disk, {"cannot write /dev/full", "No space left", "another disk"}, [&] {
    FileWriter writer(ledger_, "/dev/full");
    writer.append(random_bytes(kMiB));
  });
  // Less than a buffer is only written at the end.
  FileWriter writer(ledger_, "/dev/full");
  writer.append(random_bytes(10));
  expect_error(ErrorKind::disk, {"/dev/full"}, [&] { writer.finish(); });
}

// A file system of its own in a folder; needs root.
class Mount {
 public:
  Mount(const fs::path& folder, const char* type, const char* options) : folder_(folder) {
    fs::create_directory(folder);
    mounted_ = ::mount(type, folder.c_str(), type, 0, options) == 0;
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

TEST_F(File, ThatOutgrowsItsDiskIsADiskError) {
  const Mount disk(folder_ / "disk", "tmpfs", "size=1M");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  const fs::path path = folder_ / "disk/file";
  FileWriter writer(ledger_, path);
  writer.append(random_bytes(kMiB));  // fits to the byte
  expect_error(ErrorKind::disk, {"cannot write " + path.string(), "free some space"},
               [&] { writer.append(random_bytes(kMiB)); });
}

TEST_F(File, IsWrittenAndReadWhereODirectIsRefused) {
  const Mount disk(folder_ / "disk", "ramfs", "");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a ramfs needs root";
  const fs::path path = folder_ / "disk/file";
  const std::vector<std::byte> bytes = random_bytes(3 * kMiB + 5);
  EXPECT_EQ(write_at_once(ledger_, path, bytes).checksum, checksum_of(bytes));
  if (open_uncached(path, O_RDONLY).direct) GTEST_SKIP() << "this kernel's ramfs has O_DIRECT";
  EXPECT_EQ(fs::file_size(path), bytes.size());
  FileReader reader(ledger_, path);
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(reader.read_some(back), bytes.size());
  EXPECT_EQ(back, bytes);
}

TEST(RoundUpToBlock, GivesTheNextMultiple) {
  EXPECT_EQ(round_up_to_block(0), 0U);
  EXPECT_EQ(round_up_to_block(1), 4096U);
  EXPECT_EQ(round_up_to_block(4096), 4096U);
  EXPECT_EQ(round_up_to_block(4097), 8192U);
}

}  // namespace
}  // namespace plimsoll::io
