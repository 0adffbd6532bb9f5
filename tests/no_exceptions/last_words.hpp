// What a program says before it ends itself, of which nothing else tells. For POSIX.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <string>

namespace check {

struct LastWords {
  bool aborted = false;
  std::string text;  // of its standard error
};

// Runs `fn` in a child process, which then ends.
template <class Fn>
LastWords last_words(Fn fn) {
  constexpr int aborted = 86;
  int ends[2];
  if (pipe(ends) != 0) return {.text = "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    // Not by the signal itself, of which an emulator of another machine says more.
    std::signal(SIGABRT, [](int) { _exit(aborted); });
    fn();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char room[512];
  for (ssize_t n = 0; (n = read(ends[0], room, sizeof room)) > 0;) text.append(room, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) && WEXITSTATUS(status) == aborted, text};
}

}  // namespace check
