// The program of observe.cpp as its users see it: started, asked over HTTP, sent signals, its lines read by a parser.
#include "catch.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// A program whose output and messages are read through pipes. It is ended, if need be, with this object.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<std::string> words{OBSERVE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = fdopen(out[0], "r");
    err_ = fdopen(err[0], "r");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (child_ > 0) kill(child_, SIGKILL);
    static_cast<void>(wait());
    fclose(out_);
    fclose(err_);
  }

  void send(int signal) const { kill(child_, signal); }

  // Its next message, when it comes; empty: there is none any more.
  [[nodiscard]] std::string message() { return line_of(err_); }

  // All that it has written and nobody has read, when it is over.
  [[nodiscard]] std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (std::string line; !(line = line_of(out_)).empty();) all.push_back(std::move(line));
    return all;
  }

  // Its exit status, when it is over; -1: a signal has ended it.
  int wait() {
    int status = 0;
    if (child_ > 0) {
      waitpid(std::exchange(child_, 0), &status, 0);
      ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return ended_;
  }

 private:
  static std::string line_of(std::FILE* file) {
    std::string line;
    for (int c = 0; (c = std::fgetc(file)) != EOF && c != '\n';) line += static_cast<char>(c);
    return line;
  }

  pid_t child_ = 0;
  int ended_ = -1;
  std::FILE* out_ = nullptr;
  std::FILE* err_ = nullptr;
};

int port_in(const std::string& message) {
  const std::size_t colon = message.rfind(':');
  return colon == std::string::npos ? 0 : std::stoi(message.substr(colon + 1));
}

// The value of a sample, by its name and labels as they stand in the text.
std::string sample(const std::string& page, const std::string& series) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(series + " ", 0) == 0) return line.substr(series.size() + 1);
  }
  return "none";
}

}  // namespace

TEST_CASE("observe writes a line for each attempt and each run, serves its metrics, and draws on SIGUSR1") {
  const std::filesystem::path picture =
      std::filesystem::temp_directory_path() / ("planb_observe_" + std::to_string(getpid()) + ".svg");
  std::filesystem::remove(picture);
  Program observe({"--port", "0", "--trace", picture.string()});
  httplib::Client client("127.0.0.1", port_in(observe.message()));

  // One run that is answered at once, one that falls back, one that fails.
  const auto ask = [&](const std::string& query, const std::string& id) {
    return client.Get("/ask" + query, {{"X-Request-Id", id}});
  };
  auto answer = ask("", "at once");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "an answer of openai\n");
  answer = ask("?openai=503", "a \"fallback\" {}");
  REQUIRE(answer);
  CHECK(answer->body == "an answer of anthropic\n");
  answer = ask("?openai=401&anthropic=429", "in vain");
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK_THAT(answer->body, Catch::Matchers::ContainsSubstring("openai: 401 made up"));

  const auto metrics = client.Get("/metrics");
  REQUIRE(metrics);
  CHECK(metrics->get_header_value("Content-Type") == "text/plain; version=0.0.4");
  CHECK(sample(metrics->body, R"(planb_runs_total{chain="ask",end="succeeded"})") == "2");
  CHECK(sample(metrics->body, R"(planb_fallbacks_total{chain="ask"})") == "1");
  CHECK(sample(metrics->body,
               R"(planb_attempts_total{chain="ask",step="openai",outcome="failure",class="overloaded"})") == "2");

  const auto gates = client.Get("/gates");
  REQUIRE(gates);
  CHECK(nlohmann::json::parse(gates->body.substr(0, gates->body.find('\n'))) ==
        nlohmann::json({{"name", "anthropic"}, {"kind", "circuit_breaker"}, {"state", "closed"}}));

  observe.send(SIGUSR1);
  CHECK(observe.message().rfind("at once: succeeded after ", 0) == 0);
  while (observe.message().find("█ answered") == std::string::npos) {
  }
  std::ifstream file(picture, std::ios::binary);  // it was there before the text was
  const std::string svg{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK(svg.rfind("<svg", 0) == 0);
  CHECK(svg.find("in vain: ") != std::string::npos);
  std::filesystem::remove(picture);

  observe.send(SIGTERM);
  const std::vector<std::string> lines = observe.lines();
  CHECK(observe.wait() == 0);
  std::map<std::string, std::vector<std::string>> runs;
  for (const std::string& line : lines) {
    INFO(line);
    const nlohmann::json read = nlohmann::json::parse(line, nullptr, false);
    REQUIRE_FALSE(read.is_discarded());
    CHECK(read.at("time").get<std::string>().size() == std::string_view("2026-02-03T04:05:06.789Z").size());
    runs[read.at("label")].push_back(read.at("event"));
  }
  using Words = std::vector<std::string>;
  CHECK(runs.size() == 3);
  CHECK(runs["at once"] == Words{"attempt_success", "run_finish"});
  CHECK(runs["a \"fallback\" {}"] == Words{"attempt_failure", "attempt_failure", "attempt_success", "run_finish"});
  CHECK(runs["in vain"] == Words{"attempt_failure", "attempt_failure", "attempt_failure", "run_finish"});
}

TEST_CASE("observe says when to come back while all of its circuits are open") {
  Program observe({"--port", "0"});
  httplib::Client client("127.0.0.1", port_in(observe.message()));
  for (int i = 0; i != 3; ++i) REQUIRE(client.Get("/ask?openai=500&anthropic=500"));
  const auto answer = client.Get("/ask");
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->get_header_value("Retry-After") == "10");
  const auto gates = client.Get("/gates");
  REQUIRE(gates);
  CHECK(gates->body.find(R"("name":"openai","kind":"circuit_breaker","state":"open","open_until":)") !=
        std::string::npos);
  observe.send(SIGINT);
  CHECK(observe.wait() == 0);
}

TEST_CASE("observe ends where it cannot listen") {
  Program first({"--port", "0"});
  const int port = port_in(first.message());
  Program second({"--port", std::to_string(port)});
  CHECK(second.message() == "cannot listen on port " + std::to_string(port));
  CHECK(second.wait() == 1);
  first.send(SIGTERM);
  CHECK(first.wait() == 0);
}
