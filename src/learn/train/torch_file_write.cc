// A file of torch.save is a zip archive whose members lie in the file as they are, each at a
// multiple of 64 bytes, so that a reader may map them into memory: torch.load(mmap=True) does. If a
// number is too large for its field of the original format, the field holds all ones and a zip64
// record has the number; readers of torch and Python expect that record only then.
#include <fmt/format.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/partial_file.h"
#include "train/pickled_values.h"
#include "train/torch_file.h"

namespace plimsoll::train {
namespace {

// Writes from the start of the file, which must outlive it. Without finish() it is no archive.
class StoredZipWriter {
 public:
  explicit StoredZipWriter(const io::OpenFile& file) : file_(file) {}

  void add(std::string_view name, std::span<const std::byte> bytes);
  // A member that comes piece by piece and is never in memory as a whole. `make` hands over the
  // same pieces twice: first they are counted, then written.
  using Take = std::function<void(std::string_view bytes)>;
  void add(std::string_view name, const std::function<void(const Take&)>& make);

  // Writes the directory of the archive and what is left in the buffer. Does not sync.
  void finish();

 private:
  void begin(std::string_view name, uint64_t bytes, uint64_t crc);
  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes) { append(std::as_bytes(std::span(bytes))); }
  void flush();

  const io::OpenFile& file_;
  std::vector<std::byte> buffer_;  // at most io::kStreamBytes
  uint64_t written_bytes_ = 0;
  std::string directory_;
  uint64_t members_ = 0;
};

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kExtraHeaderBytes = 4;
constexpr uint64_t kZip64EndBytes = 56;
constexpr uint64_t kOnes16 = std::numeric_limits<uint16_t>::max();
constexpr uint64_t kOnes32 = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kPaddingExtra = 0x4246;  // "FB", as torch pads
constexpr uint16_t kFirstOf1980 = 0x0021;   // the same values give the same file every day

// Little-endian records.
class Record {
 public:
  Record& u16(uint64_t number) { return put(number, 2); }
  Record& u32(uint64_t number) { return put(number, 4); }
  Record& u64(uint64_t number) { return put(number, 8); }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& put(uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>(number >> (8 * i)));
    return *this;
  }

  std::string bytes_;
};

struct Member {
  std::string_view name;
  uint64_t bytes;
  uint64_t crc;
  uint64_t offset;

  bool is_large() const { return bytes >= kOnes32; }
  bool is_far() const { return offset >= kOnes32; }
};

// What both headers of a member share, from the version to the length of the name. All is stored:
// compressed and uncompressed size are one.
void put_common(Record& record, const Member& member, bool zip64) {
  const uint64_t bytes = zip64 ? kOnes32 : member.bytes;
  record.u16(zip64 ? 45 : 10).u16(0).u16(0).u16(0).u16(kFirstOf1980);
  record.u32(member.crc).u32(bytes).u32(bytes).u16(member.name.size());
}

// Pads itself so that what follows begins at a multiple of kAlignment.
std::string local_header(const Member& member) {
  Record zip64;
  if (member.is_large()) zip64.u16(kZip64Extra).u16(16).u64(member.bytes).u64(member.bytes);
  const uint64_t unpadded = member.offset + kLocalHeaderBytes + member.name.size() +
                            zip64.bytes().size() + kExtraHeaderBytes;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;

  Record record;
  record.u32(0x04034b50);
  put_common(record, member, member.is_large());
  record.u16(zip64.bytes().size() + kExtraHeaderBytes + padding);
  record.text(member.name).text(zip64.bytes());
  record.u16(kPaddingExtra).u16(padding).text(std::string(padding, 'Z'));
  return record.bytes();
}

uint64_t add_to_crc(uint64_t crc, std::span<const std::byte> bytes) {
  return ::crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string directory_entry(const Member& member) {
  const bool wide = member.is_large() || member.is_far();
  Record zip64;
  if (wide) {
    zip64.u16(kZip64Extra).u16(24).u64(member.bytes).u64(member.bytes).u64(member.offset);
  }
  Record record;
  record.u32(0x02014b50).u16(45);
  put_common(record, member, wide);
  record.u16(zip64.bytes().size()).u16(0).u16(0).u16(0).u32(0);
  record.u32(wide ? kOnes32 : member.offset).text(member.name).text(zip64.bytes());
  return record.bytes();
}

std::string end_of_directory(uint64_t members, uint64_t bytes, uint64_t offset) {
  const bool wide = members >= kOnes16 || bytes >= kOnes32 || offset >= kOnes32;
  Record record;
  if (wide) {
    record.u32(0x06064b50).u64(kZip64EndBytes - 12).u16(45).u16(45).u32(0).u32(0);
    record.u64(members).u64(members).u64(bytes).u64(offset);
    record.u32(0x07064b50).u32(0).u64(offset + bytes).u32(1);
  }
  record.u32(0x06054b50).u16(0).u16(0);
  record.u16(wide ? kOnes16 : members).u16(wide ? kOnes16 : members);
  record.u32(wide ? kOnes32 : bytes).u32(wide ? kOnes32 : offset).u16(0);
  return record.bytes();
}

void StoredZipWriter::begin(std::string_view name, uint64_t bytes, uint64_t crc) {
  const Member member{name, bytes, crc, written_bytes_ + buffer_.size()};
  append(local_header(member));
  directory_ += directory_entry(member);
  ++members_;
}

void StoredZipWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  begin(name, bytes.size(), add_to_crc(0, bytes));
  append(bytes);
}

void StoredZipWriter::add(std::string_view name, const std::function<void(const Take&)>& make) {
  uint64_t bytes = 0;
  uint64_t crc = 0;
  make([&](std::string_view piece) {
    bytes += piece.size();
    crc = add_to_crc(crc, std::as_bytes(std::span(piece)));
  });
  begin(name, bytes, crc);
  make([&](std::string_view piece) { append(piece); });
}

void StoredZipWriter::finish() {
  const uint64_t offset = written_bytes_ + buffer_.size();
  append(directory_);
  append(end_of_directory(members_, directory_.size(), offset));
  flush();
}

void StoredZipWriter::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > io::kStreamBytes) flush();
  if (bytes.size() > io::kStreamBytes) {
    io::write_fully(file_, bytes, written_bytes_);
    written_bytes_ += bytes.size();
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void StoredZipWriter::flush() {
  io::write_fully(file_, buffer_, written_bytes_);
  written_bytes_ += buffer_.size();
  buffer_.clear();
}

// ---- the members of a file ----

void add_text(StoredZipWriter& zip, std::string_view name, std::string_view text) {
  zip.add(name, std::as_bytes(std::span(text)));
}

void add_tensor(StoredZipWriter& zip, std::string_view name, const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
  zip.add(name, std::span(static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes()));
}

}  // namespace

// The members and their order are those of torch.save.
void write_torch_file(const io::OpenFile& file, const PyDict& dict) {
  StoredZipWriter zip(file);
  std::vector<at::Tensor> storages;
  zip.add("archive/data.pkl",
          [&](const StoredZipWriter::Take& take) { storages = write_pickle(dict, take); });
  add_text(zip, "archive/byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i) {
    add_tensor(zip, fmt::format("archive/data/{}", i), storages[i]);
  }
  add_text(zip, "archive/version", "3\n");
  zip.finish();
}

void write_torch_file(const std::filesystem::path& path, const PyDict& dict) {
  io::PartialFile partial(path);
  write_torch_file(partial.file(), dict);
  partial.commit();
}

}  // namespace plimsoll::train
