// A service that can be watched: a JSON line for each attempt and each run through spdlog, /metrics for Prometheus, and
// a picture of the last runs on SIGUSR1.
//
//   observe [--port N] [--trace FILE]
//
//   curl 'http://127.0.0.1:8080/ask?openai=503'     its providers are made up: what each answers is in the query
//   curl 'http://127.0.0.1:8080/metrics'            and /gates: what the circuit breakers show
//   kill -USR1 $(pidof observe)                     writes trace.svg
//
// What a program needs of it is the class Watched.
#include <planb/format.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>

#include <httplib.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;

// --- What is watched -------------------------------------------------------------------------------------------------

class Watched {
 public:
  // The lines go to stdout as they are: level and time are in them, or in what collects them.
  Watched() : lines_(spdlog::stdout_logger_mt("planb")) {
    lines_->set_pattern("%v");
    lines_->flush_on(spdlog::level::info);
  }

  // The options of a run. They do not outlive this object.
  [[nodiscard]] planb::RunOptions options(std::string label) const {
    return {.on_event = {count_, trace_,
                         planb::overloaded{[this](const planb::AttemptSuccess& e) { write(e, spdlog::level::info); },
                                           [this](const planb::AttemptFailure& e) { write(e, spdlog::level::warn); },
                                           [this](const planb::StepSkipped& e) { write(e, spdlog::level::warn); },
                                           [this](const planb::RunFinish& e) { write(e, spdlog::level::info); }}},
            .budget = 30s,
            .label = std::move(label)};
  }

  [[nodiscard]] const planb::Metrics& metrics() const noexcept { return metrics_; }
  [[nodiscard]] const planb::Trace& trace() const noexcept { return trace_; }

 private:
  template <class E>
  void write(const E& event, spdlog::level::level_enum level) const {
    if (lines_->should_log(level)) lines_->log(level, to_json(event, {.wall = true}));
  }

  planb::Metrics metrics_;
  planb::MetricsHandler count_ = metrics_.handler("ask");  // once for each chain, not for each run
  planb::Trace trace_;
  std::shared_ptr<spdlog::logger> lines_;
};

// --- The service -----------------------------------------------------------------------------------------------------

// Stands for a client of a provider. What it answers is what the request says of it.
struct Provider {
  std::string name;

  [[nodiscard]] std::string ask(const httplib::Request& request) const {
    const int status = request.has_param(name.c_str()) ? std::stoi(request.get_param_value(name.c_str())) : 200;
    if (status != 200) throw planb::ProviderError(status, "made up");
    return "an answer of " + name;
  }
};

planb::ExecutionPlan<Provider> chain(planb::GateRegistry& gates) {
  const auto step = [&](const std::string& name) {
    return planb::Step<Provider>{.name = name,
                                 .provide = Provider{name},
                                 .attempts = 2,
                                 .schedule = planb::spaced(10ms),
                                 .gate = gates.circuit_breaker(name, {.failure_threshold = 5, .open_for = 10s})};
  };
  return planb::ExecutionPlan<Provider>{step("openai"), step("anthropic")}.with_classifier(
      planb::http_classifier(planb::ContentRefusal::abort));
}

class Service {
 public:
  Service() : plan_(chain(gates_)) {
    // Without SO_REUSEPORT, which httplib sets by itself: a second service on the same port is to be refused.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server_.Get("/ask",
                [this](const httplib::Request& request, httplib::Response& response) { ask(request, response); });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(watched_.metrics().to_prometheus(), "text/plain; version=0.0.4");
    });
    server_.Get("/gates", [this](const httplib::Request&, httplib::Response& response) {
      std::string lines;
      for (const planb::GateSnapshot& gate : gates_.snapshots()) lines += to_json(gate) + '\n';
      response.set_content(lines, "application/x-ndjson");
    });
  }

  // Listens until stop(). Zero: a port that the system chooses.
  [[nodiscard]] bool listen(int port) {
    port = port != 0 ? (server_.bind_to_port("127.0.0.1", port) ? port : -1) : server_.bind_to_any_port("127.0.0.1");
    if (port < 0) return false;
    std::cerr << "listening on http://127.0.0.1:" << port << std::endl;
    return server_.listen_after_bind();
  }
  void stop() { server_.stop(); }

  [[nodiscard]] const planb::Trace& trace() const noexcept { return watched_.trace(); }

 private:
  void ask(const httplib::Request& request, httplib::Response& response) {
    std::string label = request.get_header_value("X-Request-Id");
    if (label.empty()) label = "request " + std::to_string(++requests_);
    const planb::RunOptions options = watched_.options(std::move(label));
    const auto answer = planb::try_run_with_plan(
        plan_, [&](const Provider& provider) { return provider.ask(request); }, options);
    if (answer) return response.set_content(*answer + "\n", "text/plain");
    response.status = 503;
    response.set_content(answer.report().to_string() + "\n", "text/plain");
    if (const std::optional<planb::TimePoint> at = answer.report().retry_at()) {
      const auto wait = std::chrono::ceil<std::chrono::seconds>(*at - planb::SteadyClock::instance().now());
      response.set_header("Retry-After", std::to_string((std::max)(wait.count(), decltype(wait)::rep{1})));
    }
  }

  planb::GateRegistry gates_;
  planb::ExecutionPlan<Provider> plan_;
  Watched watched_;
  std::atomic<int> requests_{0};
  httplib::Server server_;
};

// --- The program -----------------------------------------------------------------------------------------------------

// Signals are waited for by a thread of their own, which may do what no signal handler may: lock, write, draw.
class Signals {
 public:
  // Before any other thread starts: all of them are to have these signals blocked.
  Signals() {
    sigemptyset(&set_);
    for (const int signal : std::array{SIGUSR1, SIGINT, SIGTERM}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  // Calls `look` at each SIGUSR1, and gives back at the first of the others.
  template <class Look>
  void wait(Look look) const {
    for (int signal = 0; sigwait(&set_, &signal) == 0 && signal == SIGUSR1;) look();
  }

 private:
  sigset_t set_{};
};

void draw(const planb::Trace& trace, const std::string& file) {
  // Written beside it and then put in its place, so that nobody reads half of it.
  std::ofstream(file + ".new", std::ios::binary) << trace.to_svg();
  if (std::rename((file + ".new").c_str(), file.c_str()) != 0) std::cerr << "cannot write " << file << '\n';
  std::cerr << trace.to_text() << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  int port = 8080;
  std::string file = "trace.svg";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (argv[i] == std::string("--port")) port = std::stoi(argv[i + 1]);
    if (argv[i] == std::string("--trace")) file = argv[i + 1];
  }
  const Signals signals;
  Service service;
  std::thread waiting([&] {
    signals.wait([&] { draw(service.trace(), file); });
    service.stop();
  });
  const bool listened = service.listen(port);
  if (!listened) {
    std::cerr << "cannot listen on port " << port << '\n';
    kill(getpid(), SIGTERM);
  }
  waiting.join();
  return listened ? 0 : 1;
}
