// For tests against the real kernel: a cgroup with a limit, and a process that takes memory in it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/fd.h"
#include "memory/usage.h"

namespace plimsoll::memory {

// Pages that are there, without a write that a sanitizer would keep its own memory for.
class ResidentPages {
 public:
  explicit ResidentPages(uint64_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::runtime_error("no pages");
  }
  ResidentPages(const ResidentPages&) = delete;
  ResidentPages& operator=(const ResidentPages&) = delete;
  ~ResidentPages() { ::munmap(data_, bytes_); }

  void give_back(uint64_t bytes) {
    kept_ = bytes >= kept_ ? 0 : (kept_ - bytes) & ~uint64_t{4095};
    ::madvise(static_cast<char*>(data_) + kept_, bytes_ - kept_, MADV_DONTNEED);
  }

 private:
  uint64_t bytes_;
  uint64_t kept_ = bytes_;
  void* data_;
};

// Made below the process's own cgroup (version 1) or at the root (version 2, where a group that
// holds processes cannot have limited ones below), entered, and at the end left and removed.
class ChildCgroup {
 public:
  // Nothing, and the reason, where this process may not.
  static std::unique_ptr<ChildCgroup> enter(uint64_t limit_bytes, std::string& why_not) {
    for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2}) {
      std::unique_ptr<ChildCgroup> group(new ChildCgroup());
      if (group->try_enter(version, limit_bytes, why_not)) return group;
    }
    return nullptr;
  }
  ChildCgroup(const ChildCgroup&) = delete;
  ChildCgroup& operator=(const ChildCgroup&) = delete;
  ~ChildCgroup() {
    if (entered_) {
      EXPECT_TRUE(put(former_ / "cgroup.procs", ::getpid())) << "cannot go back to " << former_;
    }
    if (!folder_.empty()) {
      EXPECT_EQ(::rmdir(folder_.c_str()), 0) << folder_;
    }
  }

 private:
  ChildCgroup() = default;

  static bool put(const std::filesystem::path& file, uint64_t number) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    const std::string text = std::to_string(number);
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  bool try_enter(CgroupVersion version, uint64_t limit_bytes, std::string& why_not) {
    const bool v1 = version == CgroupVersion::v1;
    std::filesystem::path parent;
    for (const CgroupLevel& level : cgroup_levels(Host::real())) {
      if (level.version != version) continue;
      if (former_.empty()) former_ = level.folder;
      if (parent.empty() || !v1) parent = level.folder;
    }
    if (parent.empty()) {
      why_not += std::string("no ") + std::string(name(version)) + " is mounted; ";
      return false;
    }
    const auto folder = parent / ("plimsoll-test-" + std::to_string(::getpid()));
    if (::mkdir(folder.c_str(), 0755) != 0) {
      why_not += "cannot make " + folder.string() + "; ";
      return false;
    }
    folder_ = folder;
    entered_ = put(folder / (v1 ? "memory.limit_in_bytes" : "memory.max"), limit_bytes) &&
               put(folder / "cgroup.procs", ::getpid());
    if (!entered_) why_not += "cannot set a limit in " + folder.string() + " and enter it; ";
    return entered_;
  }

  std::filesystem::path former_;
  std::filesystem::path folder_;
  bool entered_ = false;
};

// A process that takes memory when told, in the cgroup that this one is in when it starts. It ends
// with this object, and with the test should that die.
class Neighbour {
 public:
  Neighbour() {
    if (::pipe2(orders_.data(), O_CLOEXEC) != 0 || ::pipe2(reports_.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe2");
    }
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) live();
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {orders_[0], orders_[1], reports_[0], reports_[1]}) ::close(fd);
  }

  // Returns when the memory is taken.
  void take(uint64_t bytes) {
    char done = 0;
    ASSERT_EQ(::write(orders_[1], &bytes, sizeof bytes), static_cast<ssize_t>(sizeof bytes));
    ASSERT_EQ(::read(reports_[0], &done, 1), 1);
  }

 private:
  [[noreturn]] void live() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    uint64_t bytes = 0;
    while (::read(orders_[0], &bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) {
      void* taken = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (taken == MAP_FAILED || ::write(reports_[1], "x", 1) != 1) break;
    }
    ::_exit(1);
  }

  std::array<int, 2> orders_ = {-1, -1};
  std::array<int, 2> reports_ = {-1, -1};
  pid_t pid_ = -1;
};

}  // namespace plimsoll::memory
