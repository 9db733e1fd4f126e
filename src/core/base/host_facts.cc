#include "base/host_facts.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>

#include "base/parallel.h"
#include "base/shell_word.h"
#include "base/utf8.h"

namespace plimsoll {
namespace {

// The value of the first line "model name : ..." and the like.
std::string cpu_name(const std::string& text) {
  for (const std::string_view key : {"model name", "Model", "cpu model", "uarch"}) {
    size_t at = text.starts_with(key) ? 0 : text.find("\n" + std::string(key));
    if (at == std::string::npos) continue;
    at = text.find(':', at);
    if (at == std::string::npos) continue;
    const size_t begin = text.find_first_not_of(" \t", at + 1);
    if (begin == std::string::npos) continue;
    return printable_line(text.substr(begin, text.find('\n', begin) - begin));
  }
  return {};
}

}  // namespace

HostFacts host_facts(const Host& host) {
  HostFacts facts{.cpus = available_threads()};
  utsname names = {};
  if (uname(&names) == 0) {
    facts.host = names.nodename;
    facts.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  facts.cpu = cpu_name(read_text(host.root / "proc/cpuinfo").value_or(""));
  const auto total = number_of(read_text(host.root / "proc/meminfo").value_or(""), "MemTotal:");
  facts.ram_bytes = total.value_or(0) * 1024;
  return facts;
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string word; std::getline(file, word, '\0');) {
    command += (command.empty() ? "" : " ") + shell_word(word);
  }
  return command;
}

}  // namespace plimsoll
