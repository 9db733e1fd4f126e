// Reads a file of torch.save (train/torch_file.h) as untrusted input: the archive's sizes are
// checked against the file, and memory is leased, before anything is loaded.
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "memory/buffer.h"
#include "train/footprint.h"
#include "train/pickled_values.h"
#include "train/torch_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeasedByTorchBytes = 64 * 1024;  // from this size on: tensor_memory.h
constexpr uint64_t kMostMembers = 100'000;           // libzip keeps 300 bytes per member
constexpr std::string_view kPickleName = "/data.pkl";

struct DiscardArchive {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { ::zip_fclose(member); }
};

bool is_stored(const zip_stat_t& status) {
  return status.comp_method == ZIP_CM_STORE && status.encryption_method == ZIP_EM_NONE;
}

// The members of an archive that are neither compressed nor encrypted. Together they are not larger
// than the file, so their contents cannot take more memory than that.
class StoredArchive {
 public:
  StoredArchive(const fs::path& path, uint64_t file_bytes);

  const std::string& folder() const { return folder_; }
  bool has(const std::string& name) const { return locate(name) >= 0; }
  uint64_t size(const std::string& name) const { return stat(index(name)).size; }

  // Reads every member to compare its checksum.
  void verify(memory::Ledger& ledger) const;
  // Reads the whole member, which must have that many bytes.
  void read(const std::string& name, std::span<std::byte> bytes) const;
  std::string read_text(const std::string& name, uint64_t max_bytes) const;

 private:
  zip_int64_t locate(const std::string& name) const {
    return ::zip_name_locate(archive_.get(), (folder_ + name).c_str(), 0);
  }
  using Member = std::unique_ptr<zip_file_t, CloseMember>;
  Member open(zip_uint64_t index, std::string_view name) const;
  static size_t read_some(zip_file_t* member, std::span<std::byte> bytes, std::string_view name);
  zip_uint64_t index(const std::string& name) const;
  zip_stat_t stat(zip_uint64_t index) const;

  std::unique_ptr<zip_t, DiscardArchive> archive_;
  std::string folder_;  // the folder of all members
};

// The largest number of members that any end-of-directory record in the last bytes of the file
// claims. libzip allocates memory for that many before it checks them.
uint64_t most_members(const fs::path& path, uint64_t file_bytes) {
  constexpr uint64_t kTailBytes = 65536 + 512;  // a comment, and the records in both formats
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string tail(std::min(file_bytes, kTailBytes), '\0');
  const ssize_t count =
      ::pread(fd.get(), tail.data(), tail.size(), static_cast<off_t>(file_bytes - tail.size()));
  tail.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  uint64_t most = 0;
  const auto look = [&](std::string_view mark, size_t place, auto members) {
    for (size_t at = tail.find(mark); at != std::string::npos; at = tail.find(mark, at + 1)) {
      if (tail.size() - at < place + sizeof(members)) continue;
      std::memcpy(&members, tail.data() + at + place, sizeof(members));
      if (members != UINT16_MAX || sizeof(members) > 2) most = std::max<uint64_t>(most, members);
    }
  };
  look("PK\x05\x06", 10, uint16_t{0});
  look("PK\x06\x06", 32, uint64_t{0});
  return most;
}

StoredArchive::StoredArchive(const fs::path& path, uint64_t file_bytes) {
  if (const uint64_t members = most_members(path, file_bytes); members > kMostMembers) {
    fail(ErrorKind::input, "it is a zip archive of {} members, {} is the most", members,
         kMostMembers);
  }
  int code = ZIP_ER_OK;
  archive_.reset(::zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive_) {
    fail(ErrorKind::input, "it is a damaged zip archive, perhaps cut off (libzip's error {})",
         code);
  }
  const auto count = static_cast<zip_uint64_t>(::zip_get_num_entries(archive_.get(), 0));
  uint64_t total_bytes = 0;
  for (zip_uint64_t i = 0; i < count; ++i) {
    const zip_stat_t status = stat(i);
    const std::string_view name = status.name;
    if (name.ends_with(kPickleName) && name.find('/') == name.size() - kPickleName.size()) {
      folder_ = name.substr(0, name.size() - kPickleName.size());
    }
    const uint64_t bytes = is_stored(status) ? status.size : 0;
    if (bytes > file_bytes - total_bytes) {
      fail(ErrorKind::input, "its members have more bytes than the file, {}", file_bytes);
    }
    total_bytes += bytes;
  }
  if (folder_.empty()) fail(ErrorKind::input, "it is a zip archive without data.pkl");
}

zip_uint64_t StoredArchive::index(const std::string& name) const {
  const zip_int64_t found = locate(name);
  if (found < 0) fail(ErrorKind::input, "it lacks the member {}{}", folder_, name);
  const auto index = static_cast<zip_uint64_t>(found);
  if (!is_stored(stat(index))) {
    fail(ErrorKind::input, "its member {}{} is compressed or encrypted; torch.save does neither",
         folder_, name);
  }
  return index;
}

zip_stat_t StoredArchive::stat(zip_uint64_t index) const {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t status;
  if (::zip_stat_index(archive_.get(), index, 0, &status) != 0 ||
      (status.valid & kNeeded) != kNeeded) {
    fail(ErrorKind::input, "it is a damaged zip archive");
  }
  return status;
}

StoredArchive::Member StoredArchive::open(zip_uint64_t index, std::string_view name) const {
  Member member(::zip_fopen_index(archive_.get(), index, 0));
  if (!member) fail(ErrorKind::input, "{}: {}", name, ::zip_strerror(archive_.get()));
  return member;
}

// 0 at the end; the read that returns 0 compares the checksum.
size_t StoredArchive::read_some(zip_file_t* member, std::span<std::byte> bytes,
                                std::string_view name) {
  const zip_int64_t count = ::zip_fread(member, bytes.data(), bytes.size());
  if (count >= 0) return static_cast<size_t>(count);
  zip_error_t* const error = ::zip_file_get_error(member);
  if (::zip_error_code_zip(error) == ZIP_ER_READ) {
    fail_errno("read", name, ::zip_error_code_system(error));
  }
  fail(ErrorKind::input, "{}: {}", name, ::zip_error_strerror(error));
}

void StoredArchive::read(const std::string& name, std::span<std::byte> bytes) const {
  const std::string whole_name = folder_ + name;
  const Member member = open(index(name), whole_name);
  std::array<std::byte, 1> beyond = {};
  while (true) {
    const std::span<std::byte> rest = bytes.empty() ? std::span<std::byte>(beyond) : bytes;
    const size_t count = read_some(member.get(), rest, whole_name);
    if ((count == 0) != bytes.empty()) {
      fail(ErrorKind::input, "{} is not as long as the archive says", whole_name);
    }
    if (count == 0) return;
    bytes = bytes.subspan(count);
  }
}

void StoredArchive::verify(memory::Ledger& ledger) const {
  const memory::Buffer<std::byte> block(ledger, "checkpoint values", kVerifiedAtOnceBytes);
  const auto count = static_cast<zip_uint64_t>(::zip_get_num_entries(archive_.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const zip_stat_t status = stat(i);
    if (!is_stored(status)) continue;  // such members are never read
    const Member member = open(i, status.name);
    while (read_some(member.get(), block.span(), status.name) > 0) {
    }
  }
}

std::string StoredArchive::read_text(const std::string& name, uint64_t max_bytes) const {
  const uint64_t bytes = size(name);
  if (bytes > max_bytes) {
    fail(ErrorKind::input, "its member {}{} has {} bytes, {} is the most", folder_, name, bytes,
         max_bytes);
  }
  std::string text(bytes, '\0');
  read(name, std::as_writable_bytes(std::span(text)));
  return text;
}

// The objects of a pickle are many and small. After they are freed, the heap would keep their
// pages, and they would count as used by nobody.
void give_heap_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

// Returns the size of the file. Throws if it is in another format that uses the same ending.
uint64_t check_format(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0) fail_errno("open", path.string(), errno);
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::input, "it is not a regular file");
  std::array<char, 512> start = {};
  const ssize_t count = ::pread(fd.get(), start.data(), start.size(), 0);
  if (count < 0) fail_errno("read", path.string(), errno);
  const std::string_view bytes(start.data(), static_cast<size_t>(count));
  if (bytes.empty()) fail(ErrorKind::input, "it is empty");
  if (bytes.starts_with("\x80") || (bytes.size() > 262 && bytes.substr(257, 5) == "ustar")) {
    fail(ErrorKind::input,
         "it is in the format of torch before 1.6; load and save it in Python "
         "with a newer torch");
  }
  if (!bytes.starts_with("PK\x03\x04")) fail(ErrorKind::input, "it is not a zip archive");
  return static_cast<uint64_t>(status.st_size);
}

[[noreturn]] void fail_to_read(const fs::path& path, std::string_view why) {
  fail(ErrorKind::input, "{} cannot be read as a file of torch.save: {}", path.string(), why);
}

// Runs `work`, which reads `path`, and adds the file's name to its errors.
template <typename Work>
auto reading(const fs::path& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail_to_read(path, error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::memory, "there is no memory to read {}", path.string());
  } catch (const c10::Error& error) {
    fail_to_read(path, error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail_to_read(path, error.what());
  }
}

// Whether the tensor is the whole storage, in order.
bool is_whole(const StoredTensor& stored) {
  int64_t stride = 1;
  for (size_t i = stored.sizes.size(); i-- > 0;) {
    if (stored.sizes[i] != 1 && stored.strides[i] != stride) return false;
    stride *= stored.sizes[i];
  }
  return stored.offset == 0 && stride == stored.count;
}

PyValue with_tensors(const PyValue& value, TorchFileReader& file);

PyDict with_tensors(const PyDict& dict, TorchFileReader& file) {
  PyDict loaded;
  for (const auto& [key, value] : dict) loaded[key] = with_tensors(value, file);
  return loaded;
}

PyValue with_tensors(const PyValue& value, TorchFileReader& file) {
  if (value.is<std::shared_ptr<const StoredTensor>>()) return file.load(value.as<StoredTensor>());
  if (value.is<PyDict>()) return with_tensors(value.as<PyDict>(), file);
  if (!value.is<PyList>()) return value;
  PyList loaded;
  for (const PyValue& item : value.as<PyList>()) loaded.push_back(with_tensors(item, file));
  return loaded;
}

}  // namespace

class TorchFileReader::Content {
 public:
  Content(const fs::path& path, memory::Ledger& ledger, const StreamedList* streamed);

  const fs::path& path() const { return path_; }
  const PyDict& values() const { return values_; }
  // The size of its storage in bytes. Throws Error{input} if it does not match the tensor.
  uint64_t check(const StoredTensor& stored) const;
  void read(const StoredTensor& stored, std::span<std::byte> numbers) const;
  at::Tensor load(const StoredTensor& stored);

 private:
  fs::path path_;
  memory::Ledger& ledger_;
  StoredArchive archive_;
  memory::Lease lease_;          // of the values
  memory::Lease tensors_lease_;  // of storages that are too small for their own lease
  PyDict values_;
  std::unordered_map<std::string, at::Tensor> loaded_;  // by storage
};

TorchFileReader::Content::Content(const fs::path& path, memory::Ledger& ledger,
                                  const StreamedList* streamed)
    : path_(path), ledger_(ledger), archive_(path, check_format(path)) {
  archive_.verify(ledger);
  if (archive_.has("/byteorder") && archive_.read_text("/byteorder", 16) != "little") {
    fail(ErrorKind::input, "its numbers are big-endian");
  }
  const std::string name(kPickleName);
  const uint64_t bytes = archive_.size(name);
  if (bytes > pickle::kMostPickleBytes) {
    fail(ErrorKind::input, "its data.pkl has {} bytes, {} is the most", bytes,
         pickle::kMostPickleBytes);
  }
  {
    const memory::Lease text_lease = ledger.lease("checkpoint values", bytes);
    const std::string text = archive_.read_text(name, bytes);
    const pickle::Pickle objects(text, ledger);
    values_ = values_of(objects, bytes, ledger, lease_, streamed);
  }
  give_heap_back();
}

uint64_t TorchFileReader::Content::check(const StoredTensor& stored) const {
  const std::string member = "/data/" + stored.storage;
  const uint64_t bytes = archive_.size(member);
  const uint64_t item_bytes = c10::elementSize(stored.type);
  if (stored.count < 0 || bytes % item_bytes != 0 ||
      static_cast<uint64_t>(stored.count) != bytes / item_bytes) {
    fail(ErrorKind::input, "its member {}{} has {} bytes, {} numbers of type {} were expected",
         archive_.folder(), member, bytes, stored.count, c10::toString(stored.type));
  }
  return bytes;
}

void TorchFileReader::Content::read(const StoredTensor& stored,
                                    std::span<std::byte> numbers) const {
  const std::string member = "/data/" + stored.storage;
  archive_.read(member, numbers);
  const auto is_bool = [](std::byte byte) { return byte <= std::byte{1}; };
  if (stored.type == at::ScalarType::Bool &&
      !std::all_of(numbers.begin(), numbers.end(), is_bool)) {
    fail(ErrorKind::input, "its member {}{} has bools that are neither true nor false",
         archive_.folder(), member);
  }
}

at::Tensor TorchFileReader::Content::load(const StoredTensor& stored) {
  const auto found = loaded_.find(stored.storage);
  if (found != loaded_.end()) {
    const at::Tensor& numbers = found->second;
    if (numbers.scalar_type() != stored.type || numbers.numel() != stored.count) {
      fail(ErrorKind::input, "its storage {} is used as two different ones", stored.storage);
    }
    return numbers.as_strided(stored.sizes, stored.strides, stored.offset);
  }
  const uint64_t bytes = check(stored);
  if (bytes < kLeasedByTorchBytes) tensors_lease_.merge(ledger_.lease("checkpoint values", bytes));
  at::Tensor numbers = at::empty({stored.count}, at::TensorOptions().dtype(stored.type));
  read(stored, {static_cast<std::byte*>(numbers.data_ptr()), bytes});
  loaded_.emplace(stored.storage, numbers);
  return numbers.as_strided(stored.sizes, stored.strides, stored.offset);
}

TorchFileReader::TorchFileReader(const fs::path& path, memory::Ledger& ledger,
                                 const StreamedList* streamed)
    : content_(reading(path, [&] { return std::make_unique<Content>(path, ledger, streamed); })) {}

TorchFileReader::~TorchFileReader() = default;

const PyDict& TorchFileReader::values() const { return content_->values(); }

void TorchFileReader::read_into(const StoredTensor& stored, const at::Tensor& to) {
  reading(content_->path(), [&] {
    if (to.is_cpu() && to.is_contiguous() && to.scalar_type() == stored.type && is_whole(stored)) {
      content_->check(stored);
      content_->read(stored, {static_cast<std::byte*>(to.data_ptr()), to.nbytes()});
    } else {
      to.copy_(content_->load(stored));
    }
  });
}

at::Tensor TorchFileReader::load(const StoredTensor& stored) {
  return reading(content_->path(), [&] { return content_->load(stored); });
}

PyDict read_torch_file(const fs::path& path, memory::Ledger& ledger) {
  TorchFileReader file(path, ledger);
  return with_tensors(file.values(), file);
}

}  // namespace plimsoll::train
