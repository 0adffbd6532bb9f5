// Plans in a program that is called back: one thread, an event loop, several runs in flight, and nothing that blocks.
// AsyncRun is what to copy; the loop below it stands for that of a GUI, a game or a server.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

namespace {

// One run in flight. `Loop` has call_at(TimePoint, function) and nothing else. `call` makes one attempt: it starts it,
// and sees to it that `reply` is called, now or later, at most once. Destroyed early, the run ends its attempt as
// interrupted; a reply or a timer that comes after that, or after the attempt's time, finds nobody and does nothing.
template <class Ctx, class Answer, class Loop>
class AsyncRun : public std::enable_shared_from_this<AsyncRun<Ctx, Answer, Loop>> {
 public:
  using Outcome = std::variant<Answer, planb::Cause>;
  using Reply = std::function<void(Outcome)>;
  using Call = std::function<void(Ctx&, const planb::Attempt&, Reply)>;
  using Done = std::function<void(const std::optional<Answer>&, const planb::RunReport&)>;

  [[nodiscard]] static std::shared_ptr<AsyncRun> start(Loop& loop, const planb::ExecutionPlan<Ctx>& plan, Call call,
                                                       Done done, const planb::RunOptions& options = {}) {
    const std::shared_ptr<AsyncRun> run(new AsyncRun(loop, plan, std::move(call), std::move(done), options));
    run->go();
    return run;
  }

 private:
  AsyncRun(Loop& loop, const planb::ExecutionPlan<Ctx>& plan, Call call, Done done, const planb::RunOptions& options)
      : loop_(loop), call_(std::move(call)), done_(std::move(done)), run_(plan, options) {}

  void go() {
    for (;;) {
      switch (run_.next()) {
        case planb::RunPhase::attempt:
          if (!attempt()) return;
          break;  // it is over already: no recursion, however often that happens
        case planb::RunPhase::wait: return loop_.call_at(run_.due(), unless_late([](AsyncRun& run) { run.go(); }));
        case planb::RunPhase::over: return done_(answer_, run_.report());
      }
    }
  }

  bool attempt() {
    if (!run_.provide(context_)) return true;
    calling_ = true;
    if (const auto deadline = run_.attempt().deadline()) {
      loop_.call_at(*deadline, unless_late([](AsyncRun& run) { run.reply(planb::Cause::timed_out()); }));
    }
    try {
      const planb::CurrentMetadata::Scope scope(run_.metadata());
      call_(*context_, run_.attempt(),
            unless_late([](AsyncRun& run, Outcome outcome) { run.reply(std::move(outcome)); }));
    } catch (...) {
      outcome_ = planb::Cause::current();
    }
    calling_ = false;
    return outcome_ && settle();
  }

  void reply(Outcome outcome) {
    if (outcome_) return;
    outcome_ = std::move(outcome);
    if (!calling_ && settle()) go();
  }

  bool settle() {
    ++ticket_;  // whatever else comes of this attempt comes too late
    Outcome outcome = *std::exchange(outcome_, std::nullopt);
    context_.reset();
    if (planb::Cause* const cause = std::get_if<planb::Cause>(&outcome)) {
      run_.fail(std::move(*cause));
    } else {
      answer_ = std::get<Answer>(std::move(outcome));
      run_.succeed();
    }
    return true;
  }

  // `f` as a callback that does nothing once the attempt or the run is gone.
  template <class F>
  auto unless_late(F f) {
    return [run = this->weak_from_this(), ticket = ticket_, f](auto&&... arguments) {
      const std::shared_ptr<AsyncRun> self = run.lock();
      if (self != nullptr && self->ticket_ == ticket) f(*self, std::forward<decltype(arguments)>(arguments)...);
    };
  }

  Loop& loop_;
  const Call call_;
  const Done done_;
  planb::PlanRun<Ctx> run_;
  planb::ContextSlot<Ctx> context_;  // after the run: it is destroyed first
  std::optional<Answer> answer_;
  std::optional<Outcome> outcome_;
  std::uint64_t ticket_ = 0;
  bool calling_ = false;
};

// A loop of timers. Its time is made up, so that the program ends at once; with a real one, leave out the clock.
class EventLoop {
 public:
  planb::testing::VirtualClock clock;

  void call_at(planb::TimePoint due, std::function<void()> f) { timers_.push({due, ++count_, std::move(f)}); }
  void call_in(planb::Duration delay, std::function<void()> f) { call_at(clock.now() + delay, std::move(f)); }

  void run() {
    while (!timers_.empty()) {
      const Timer timer = timers_.top();
      timers_.pop();
      clock.advance(timer.due - clock.now());
      timer.f();
    }
  }

 private:
  struct Timer {
    planb::TimePoint due;
    std::uint64_t number;
    std::function<void()> f;

    bool operator<(const Timer& other) const {
      return due != other.due ? other.due < due : other.number < number;  // the earliest is the greatest
    }
  };

  std::priority_queue<Timer> timers_;
  std::uint64_t count_ = 0;
};

// A returned error. Its members are found by their names.
struct CallError {
  int status;
  std::string message;
};

// A provider's client as callback programs have them: complete() returns at once. What it does is written down for
// each prompt: a time and a status for each call; a time of zero means that it calls back before it returns.
class Client {
 public:
  struct Behaviour {
    planb::Duration takes;
    int status = 200;
  };
  using Script = std::map<std::string, std::vector<Behaviour>>;

  Client(EventLoop& loop, std::string name, Script script)
      : loop_(&loop), name_(std::move(name)), script_(std::move(script)) {}

  template <class Callback>
  void complete(const std::string& prompt, const Callback& callback) {
    std::vector<Behaviour>& calls = script_[prompt];
    const Behaviour now = calls.empty() ? Behaviour{5ms} : calls.front();
    if (!calls.empty()) calls.erase(calls.begin());
    auto answer = [callback, text = name_ + " on " + prompt, status = now.status] {
      if (status == 200) {
        callback(std::string(text), std::optional<CallError>());
      } else {
        callback(std::string(), std::optional(CallError{status, "status " + std::to_string(status)}));
      }
    };
    if (now.takes == 0ms) {
      answer();
    } else {
      loop_->call_in(now.takes, std::move(answer));
    }
  }

 private:
  EventLoop* loop_;
  std::string name_;
  Script script_;
};

bool check(bool holds, const char* what) {
  if (!holds) std::cout << "FAILED: " << what << '\n';
  return holds;
}

}  // namespace

int main() {
  EventLoop loop;
  Client openai(loop, "openai",
                {{"busy", {{12ms, 503}, {10ms, 200}}},   // fails once
                 {"slow", {{500ms, 200}}},               // answers long after its time
                 {"unlucky", {{5ms, 503}, {5ms, 503}}},  // fails for good
                 {"closed", {{500ms, 200}}}});
  Client anthropic(loop, "anthropic", {{"unlucky", {{0ms, 503}}}});  // fails before its call returns
  Client local(loop, "local", {{"unlucky", {{0ms, 200}}}});

  const auto worth_it = [](const planb::Cause& cause) { return cause.status() == 503; };
  const planb::ExecutionPlan<Client&> plan{
      {.name = "openai",
       .provide = openai,
       .attempts = 2,
       .schedule = planb::spaced(20ms),
       .retry_while = worth_it,
       .timeout = 40ms},
      {.name = "anthropic", .provide = anthropic},
      {.name = "local", .provide = local},
  };

  using Run = AsyncRun<Client&, std::string, EventLoop>;
  std::map<std::string, std::shared_ptr<Run>> runs;
  std::map<std::string, std::string> answers;
  std::vector<std::string> trace;

  const auto tell = [&](const std::string& prompt, const std::string& what) {
    const std::string ms = std::to_string(loop.clock.elapsed() / 1ms);
    trace.push_back(std::string(4 - ms.size(), ' ') + ms + " ms  " + prompt + ": " + what);
    std::cout << trace.back() << '\n';
  };
  const auto ask = [&](const std::string& prompt) {
    runs[prompt] = Run::start(
        loop, plan,
        [prompt](Client& client, const planb::Attempt&, const Run::Reply& reply) {
          client.complete(prompt, [reply](const std::string& text, const std::optional<CallError>& error) {
            reply(error ? Run::Outcome(planb::Cause::of(*error)) : Run::Outcome(text));
          });
        },
        [&, prompt](const std::optional<std::string>& answer, const planb::RunReport& report) {
          answers[prompt] = answer.value_or(report.to_string());
        },
        {.on_event = [&, prompt](const planb::Event& event) { tell(prompt, to_string(event)); }, .clock = &loop.clock});
  };

  for (const char* const prompt : {"busy", "slow", "unlucky", "closed"}) ask(prompt);
  loop.call_in(15ms, [&] { runs.erase("closed"); });  // its window was closed
  loop.run();

  std::cout << '\n';
  for (const auto& [prompt, answer] : answers) std::cout << prompt << ": " << answer << '\n';

  // The attempts of one run begin and end while others wait.
  const std::vector<std::string> expected{
      "   0 ms  busy: AttemptStart #1 step=0 openai",
      "   0 ms  slow: AttemptStart #1 step=0 openai",
      "   0 ms  unlucky: AttemptStart #1 step=0 openai",
      "   0 ms  closed: AttemptStart #1 step=0 openai",
      "   5 ms  unlucky: AttemptFailure #1 step=0 openai 503 status 503, retry in 20 ms",
      "  12 ms  busy: AttemptFailure #1 step=0 openai 503 status 503, retry in 20 ms",
      "  15 ms  closed: AttemptFailure #1 step=0 openai interrupted, end: interrupted",
      "  15 ms  closed: RunFinish interrupted, plan interrupted: openai: interrupted",
      "  25 ms  unlucky: AttemptStart #2 step=0 openai",
      "  30 ms  unlucky: AttemptFailure #2 step=0 openai 503 status 503, next step",
      "  30 ms  unlucky: AttemptStart #3 step=1 anthropic",
      "  30 ms  unlucky: AttemptFailure #3 step=1 anthropic 503 status 503, next step",
      "  30 ms  unlucky: AttemptStart #4 step=2 local",
      "  30 ms  unlucky: AttemptSuccess #4 step=2 local",
      ("  30 ms  unlucky: RunFinish succeeded, openai: 2 attempts, last 503 status 503; anthropic: 503 status 503; "
       "local: answered"),
      "  32 ms  busy: AttemptStart #2 step=0 openai",
      "  40 ms  slow: AttemptFailure #1 step=0 openai timed out, next step",
      "  40 ms  slow: AttemptStart #2 step=1 anthropic",
      "  42 ms  busy: AttemptSuccess #2 step=0 openai",
      "  42 ms  busy: RunFinish succeeded, openai: answered, after 503 status 503",
      "  45 ms  slow: AttemptSuccess #2 step=1 anthropic",
      "  45 ms  slow: RunFinish succeeded, openai: timed out, not worth retrying; anthropic: answered",
  };
  bool good = check(trace == expected, "the runs take turns, each by its plan");
  good = check(answers == std::map<std::string, std::string>{{"busy", "openai on busy"},
                                                             {"slow", "anthropic on slow"},
                                                             {"unlucky", "local on unlucky"}},
               "each run has its own answer, and the closed one has none") &&
         good;
  return good ? 0 : 1;
}
