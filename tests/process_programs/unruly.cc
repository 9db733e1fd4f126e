// A program that does one thing a supervised command may do to outlive its supervisor, or to fill
// its memory: `unruly DEED [NUMBER]`. Whatever it starts ends by itself after a minute at most,
// should nobody end it.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr unsigned kLifeSeconds = 60;

void begin_child() { alarm(kLifeSeconds); }

// Runs `deed` in a child.
pid_t in_child(const std::function<void()>& deed) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  begin_child();
  deed();
  _exit(0);
}

void wait_forever() {
  for (;;) pause();
}

void ignore_requests() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) std::signal(number, SIG_IGN);
}

void daemonize_and(const std::function<void()>& deed) {
  const pid_t first = in_child([&] {
    setsid();
    in_child([&] {
      setsid();
      deed();
    });
  });
  waitpid(first, nullptr, 0);
}

void fill(size_t mebibytes) {
  std::vector<char*> blocks;
  for (size_t i = 0; i < mebibytes; ++i) {
    auto* const block = static_cast<char*>(std::malloc(1U << 20));
    std::memset(block, static_cast<int>(i) | 1, 1U << 20);
    blocks.push_back(block);
    usleep(500);
  }
  sleep(kLifeSeconds);
}

// `count` processes in all, each the child of another or of a dead one, half of them with sessions
// of their own; all ignore requests and stay.
void storm(size_t count) {
  ignore_requests();
  for (size_t i = 0; i < count; ++i) {
    in_child([&] {
      if (i % 2 == 0) setsid();
      if (i % 3 == 0 && fork() != 0) _exit(0);
      begin_child();
      wait_forever();
    });
  }
}

// Forks without end, each generation leaving the one before it to init.
void flee(size_t generations) {
  ignore_requests();
  for (size_t i = 0; i < generations; ++i) {
    const pid_t next = fork();
    if (next != 0) _exit(0);
    begin_child();
    setsid();
    usleep(2000);
  }
}

void flood(size_t mebibytes) {
  std::string line(1023, 'x');
  line += '\n';
  for (size_t i = 0; i < mebibytes * 1024; ++i) {
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) std::exit(3);
  }
}

void make_zombies(size_t count) {
  for (size_t i = 0; i < count; ++i) in_child([] {});
  usleep(200'000);  // they have ended, and nobody asks for them
}

// Becomes another program, with another name and without the environment: the `sleep` beside this
// one if there is one, so that a test can tell it from others.
void erase_traces() {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sleep";
  clearenv();
  execl(self.c_str(), "kworker", "50", nullptr);
  execl("/bin/sleep", "kworker", "50", nullptr);
}

void stay() { wait_forever(); }

const std::map<std::string, std::function<void(size_t)>> kDeeds = {
    {"setsid",
     [](size_t) {
       in_child([] {
         setsid();
         stay();
       });
     }},
    {"daemon", [](size_t) { daemonize_and(stay); }},
    {"stubborn",
     [](size_t) {
       daemonize_and([] {
         ignore_requests();
         stay();
       });
     }},
    {"retitled", [](size_t) { daemonize_and(erase_traces); }},
    {"stopped",
     [](size_t) {
       daemonize_and([] {
         raise(SIGSTOP);
         stay();
       });
     }},
    {"stop-itself", [](size_t) { raise(SIGSTOP); }},
    {"storm", storm},
    {"flee", [](size_t count) { in_child([count] { flee(count); }); }},
    {"zombies", make_zombies},
    {"eat", fill},
    {"eat-below",
     [](size_t size) {
       in_child([size] {
         in_child([size] { fill(size); });
         stay();
       });
       stay();
     }},
    {"flood", flood},
    {"hold-output",
     [](size_t) {
       std::puts("held");
       std::fflush(stdout);
       daemonize_and(stay);
     }},
    {"spin",
     [](size_t seconds) {
       alarm(static_cast<unsigned>(seconds));
       for (;;) {
       }
     }},
    {"hold",  // another process, as a debugger does
     [](size_t pid) {
       const auto other = static_cast<pid_t>(pid);
       if (ptrace(PTRACE_SEIZE, other, nullptr, nullptr) != 0) std::exit(3);
       if (ptrace(PTRACE_INTERRUPT, other, nullptr, nullptr) != 0) std::exit(3);
       std::puts("held");
       std::fflush(stdout);
       stay();
     }},
    {"stay",
     [](size_t) {
       ignore_requests();
       stay();
     }},
    {"family",
     [](size_t) {
       in_child(stay);
       daemonize_and([] {
         ignore_requests();
         stay();
       });
       stay();
     }},
};

}  // namespace

int main(int argc, char** argv) {
  alarm(kLifeSeconds);
  const auto deed = argc > 1 ? kDeeds.find(argv[1]) : kDeeds.end();
  if (deed == kDeeds.end()) {
    std::fputs("usage: unruly DEED [NUMBER]\n", stderr);
    return 2;
  }
  deed->second(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  return 7;
}
