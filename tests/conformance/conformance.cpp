// Runs the cases of the files named as arguments and compares what happens with what they expect: events with their
// times, what the callable reads as metadata or what the consumer of a stream receives, how often each factory runs,
// and the outcome. Each case is run with errors that are thrown and with errors that are returned; a stream's in its
// push form and in its pull form. The last line is `N passed, N failed`. What cannot be read is a failure, never passed
// over.
//
// A case is a block of lines, ended by a blank line:
//
//   case NAME
//   option KEY=VALUE ...            entry=immediate; of streams: prevent_fallback_on_partial_stream=BOOL, take=N
//   step NAME [attempts=N]
//     schedule EXPR                 as parse_schedule reads it
//     while [STATUS ...]            the predicate: true for errors of these statuses
//     call ok|fail STATUS|defect [after=5ms] [emit=1,2]
//   event T start|success|failure ATTEMPT STEP_ATTEMPT STEP_INDEX [STATUS|defect]
//   metadata A/S ...                of plans
//   items N ...                     of streams
//   builds N ...
//   outcome ok [STEP] | fail STATUS STEP_INDEX | defect
//
// Times are virtual, T in microseconds. An endless schedule without attempts means planb::unlimited.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/schedule/text.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using planb::Duration;
using planb::Schedule;
using Words = std::vector<std::string_view>;

enum class Does { ok, fail, defect };

// What the provider does at one call.
struct Call {
  Does does = Does::ok;
  int status = 0;
  Duration after{};
  std::vector<int> emit;
};

struct CaseStep {
  std::string name;
  std::optional<int> attempts;
  std::optional<Schedule> schedule;
  std::optional<std::vector<int>> retry_statuses;
  std::vector<Call> calls;
};

// Both what a case expects and what a run gave, as the texts of its lines.
struct Outcome {
  std::vector<std::string> events;
  std::optional<std::string> metadata;
  std::optional<std::string> items;
  std::optional<std::string> builds;
  std::optional<std::string> end;
};

struct Case {
  std::string name;
  planb::StepEntry entry = planb::StepEntry::scheduled;
  std::optional<bool> prevent_fallback;
  std::optional<int> take;
  std::vector<CaseStep> steps;
  Outcome expected;

  [[nodiscard]] bool is_stream() const {
    const auto emits = [](const Call& call) { return !call.emit.empty(); };
    return prevent_fallback || take || expected.items || std::any_of(steps.begin(), steps.end(), [&](const auto& step) {
             return std::any_of(step.calls.begin(), step.calls.end(), emits);
           });
  }
};

struct Line {
  int number = 0;
  std::string text;
};

// What is wrong with a line.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Words split(std::string_view text, char separator = ' ') {
  Words words;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    if (separator != ' ' || end != start) words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::string join(const Words& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

int read_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size()) {
    throw Unreadable(quoted(text) + " is not a number of zero or more");
  }
  return number;
}

int read_positive(std::string_view text) {
  const int number = read_number(text);
  if (number == 0) throw Unreadable("a number above zero is expected, not 0");
  return number;
}

Duration read_duration(std::string_view text) {
  const std::size_t unit = std::min(text.find_first_not_of("0123456789"), text.size());
  const int count = read_number(text.substr(0, unit));
  if (text.substr(unit) == "us") return std::chrono::microseconds(count);
  if (text.substr(unit) == "ms") return std::chrono::milliseconds(count);
  if (text.substr(unit) == "s") return std::chrono::seconds(count);
  throw Unreadable(quoted(text) + " is not a duration in us, ms or s");
}

bool read_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw Unreadable(quoted(text) + " is neither true nor false");
}

// `KEY=VALUE`.
std::pair<std::string_view, std::string_view> read_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) throw Unreadable(quoted(word) + " is not of the form KEY=VALUE");
  return {word.substr(0, equals), word.substr(equals + 1)};
}

template <class T>
void set_once(std::optional<T>& target, T value, const char* what) {
  if (target) throw Unreadable(std::string("a second ") + what);
  target = std::move(value);
}

void need_words(const Words& words, std::size_t least, std::size_t most) {
  if (words.size() < least) throw Unreadable("the line ends too early");
  if (words.size() > most) throw Unreadable(quoted(words[most]) + " is too much");
}

class CaseReader {
 public:
  void read(std::string_view text) {
    const Words words = split(text);
    const std::string_view what = words.front();
    if (what == "case") return read_case(words);
    if (result_.name.empty()) throw Unreadable("a case starts with `case NAME`");
    if (what == "option") return read_options(words);
    if (what == "step") return read_step(words);
    if (what == "schedule") return read_schedule(text.substr(text.find(what) + what.size()));
    if (what == "while") return read_while(words);
    if (what == "call") return read_call(words);
    if (what == "event") return read_event(words);
    if (what == "metadata") return read_metadata(words);
    if (what == "items") return read_numbers(words, result_.expected.items);
    if (what == "builds") return read_numbers(words, result_.expected.builds);
    if (what == "outcome") return read_outcome(words);
    throw Unreadable("unknown line " + quoted(what));
  }

  // The case, when all its lines have been read.
  Case finish() {
    if (result_.steps.empty()) throw Unreadable("the case has no step");
    for (const CaseStep& step : result_.steps) {
      if (step.calls.empty()) throw Unreadable("step " + step.name + " has no call");
    }
    const Outcome& expected = result_.expected;
    if (expected.events.empty()) throw Unreadable("the case has no event");
    if (result_.is_stream() ? !expected.items : !expected.metadata) {
      throw Unreadable(result_.is_stream() ? "the case has no items" : "the case has no metadata");
    }
    if (!expected.builds) throw Unreadable("the case has no builds");
    if (!expected.end) throw Unreadable("the case has no outcome");
    if (result_.is_stream() ? expected.end->starts_with("ok ") : *expected.end == "ok") {
      throw Unreadable("the outcome of a plan names the step that answered, that of a stream does not");
    }
    return std::move(result_);
  }

  [[nodiscard]] const std::string& name() const { return result_.name; }

 private:
  void read_case(const Words& words) {
    if (!result_.name.empty()) throw Unreadable("a case within a case; a blank line ends one");
    need_words(words, 2, 2);
    result_.name = words[1];
  }

  void read_options(const Words& words) {
    need_words(words, 2, words.size());
    for (std::size_t i = 1; i != words.size(); ++i) {
      const auto [key, value] = read_setting(words[i]);
      if (key == "entry") {
        if (value != "immediate") throw Unreadable("unknown entry " + quoted(value));
        result_.entry = planb::StepEntry::immediate;
      } else if (key == "prevent_fallback_on_partial_stream") {
        set_once(result_.prevent_fallback, read_bool(value), "prevent_fallback_on_partial_stream");
      } else if (key == "take") {
        set_once(result_.take, read_positive(value), "take");
      } else {
        throw Unreadable("unknown option " + quoted(key));
      }
    }
  }

  void read_step(const Words& words) {
    need_words(words, 2, 3);
    CaseStep& step = result_.steps.emplace_back();
    step.name = words[1];
    if (words.size() == 2) return;
    const auto [key, value] = read_setting(words[2]);
    if (key != "attempts") throw Unreadable("unknown setting " + quoted(key) + " of a step");
    step.attempts = read_positive(value);
  }

  CaseStep& step() {
    if (result_.steps.empty()) throw Unreadable("the line belongs to a step, and there is none");
    return result_.steps.back();
  }

  void read_schedule(std::string_view text) {
    const planb::Parsed<Schedule> schedule = planb::parse_schedule(text);
    if (!schedule) throw Unreadable("schedule " + std::string(text) + ": " + schedule.error().message());
    set_once(step().schedule, *schedule, "schedule");
  }

  void read_while(const Words& words) {
    std::vector<int> statuses;
    for (std::size_t i = 1; i != words.size(); ++i) statuses.push_back(read_positive(words[i]));
    set_once(step().retry_statuses, std::move(statuses), "predicate");
  }

  void read_call(const Words& words) {
    need_words(words, 2, words.size());
    Call call;
    std::size_t at = 2;
    if (words[1] == "fail") {
      need_words(words, 3, words.size());
      call.does = Does::fail;
      call.status = read_positive(words[at++]);
    } else if (words[1] == "defect") {
      call.does = Does::defect;
    } else if (words[1] != "ok") {
      throw Unreadable("a call ends in ok, fail or defect, not in " + quoted(words[1]));
    }
    for (; at != words.size(); ++at) {
      const auto [key, value] = read_setting(words[at]);
      if (key == "after") {
        call.after = read_duration(value);
      } else if (key == "emit") {
        for (const std::string_view item : split(value, ',')) call.emit.push_back(read_number(item));
      } else {
        throw Unreadable("unknown setting " + quoted(key) + " of a call");
      }
    }
    step().calls.push_back(std::move(call));
  }

  void read_event(const Words& words) {
    need_words(words, 6, 7);
    const bool failure = words[2] == "failure";
    if (words[2] != "start" && words[2] != "success" && !failure) {
      throw Unreadable("unknown event " + quoted(words[2]));
    }
    need_words(words, failure ? 7 : 6, failure ? 7 : 6);
    for (const std::size_t i : {1U, 3U, 4U, 5U}) static_cast<void>(read_number(words[i]));
    if (failure && words[6] != "defect") static_cast<void>(read_positive(words[6]));
    result_.expected.events.push_back(join({words.begin() + 1, words.end()}));
  }

  void read_metadata(const Words& words) {
    for (std::size_t i = 1; i != words.size(); ++i) {
      const Words parts = split(words[i], '/');
      if (parts.size() != 2) throw Unreadable(quoted(words[i]) + " is not of the form ATTEMPT/STEP_INDEX");
      for (const std::string_view part : parts) static_cast<void>(read_number(part));
    }
    set_once(result_.expected.metadata, join({words.begin() + 1, words.end()}), "metadata line");
  }

  static void read_numbers(const Words& words, std::optional<std::string>& target) {
    for (std::size_t i = 1; i != words.size(); ++i) static_cast<void>(read_number(words[i]));
    set_once(target, join({words.begin() + 1, words.end()}), "line of this kind");
  }

  void read_outcome(const Words& words) {
    need_words(words, 2, 4);
    if (words[1] == "fail") {
      need_words(words, 4, 4);
      static_cast<void>(read_positive(words[2]));
      static_cast<void>(read_number(words[3]));
    } else if (words[1] == "ok") {
      need_words(words, 2, 3);
    } else if (words[1] == "defect") {
      need_words(words, 2, 2);
    } else {
      throw Unreadable("a run ends in ok, fail or defect, not in " + quoted(words[1]));
    }
    set_once(result_.expected.end, join({words.begin() + 1, words.end()}), "outcome");
  }

  Case result_;
};

struct ProviderFailure {
  int status = 0;
  int step_index = 0;
};

// The callable's result, or a stream's element, where errors are returned.
template <class T>
class Reply {
 public:
  explicit Reply(T value) : value_(std::move(value)) {}
  explicit Reply(ProviderFailure failure) : failure_(failure) {}

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] const ProviderFailure& error() const { return failure_; }

 private:
  std::optional<T> value_;
  ProviderFailure failure_;
};

// The context: which step's provider it is.
struct Provider {
  int step_index = 0;
};

std::string at(planb::TimePoint time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count());
}

template <class E>
std::string event_text(const char* kind, const E& event) {
  return at(event.at) + " " + kind + " " + std::to_string(event.attempt) + " " + std::to_string(event.step_attempt) +
         " " + std::to_string(event.step_index);
}

std::string cause_text(const planb::Cause& cause) {
  if (cause.kind() == planb::CauseKind::defect) return "defect";
  if (const ProviderFailure* const failure = cause.get_if<ProviderFailure>()) return std::to_string(failure->status);
  return "unknown error: " + cause.message();
}

// A run that is more than this is one that does not end.
constexpr std::size_t most_calls = 10'000;

class CaseRun {
 public:
  explicit CaseRun(const Case& described) : case_(described), calls_(case_.steps.size()), builds_(case_.steps.size()) {}

  // Errors are thrown, or returned: to the plan they are the same.
  Outcome run_plan(bool thrown) {
    const planb::RunOptions options{
        .on_event = recorder(), .clock = &clock_, .entry = case_.entry, .failure = planb::FailureStyle::original};
    return observe([&] {
      const planb::ExecutionPlan<Provider> plan = make_plan();
      if (thrown) {
        outcome_.end = "ok " + planb::run_with_plan(
                                   plan, [this](const Provider& provider) { return call_throwing(provider); }, options);
      } else {
        const Reply<std::string> reply = planb::run_with_plan(
            plan, [this](const Provider& provider) { return call(provider); }, options);
        outcome_.end = reply.has_value() ? "ok " + *reply : fail_text(reply.error());
      }
    });
  }

  Outcome push_stream(bool thrown) {
    return observe([&] {
      const planb::ExecutionPlan<Provider> plan = make_plan();
      const auto sink = [this](int item) { return receive(item); };
      if (thrown) {
        planb::push_with_plan(
            plan,
            [this](const Provider& provider, auto& emit) {
              if (const Reply<std::string> reply = push(provider, emit); !reply.has_value()) throw reply.error();
            },
            sink, stream_options());
        outcome_.end = "ok";
      } else {
        const Reply<std::string> reply = planb::push_with_plan(
            plan, [this](const Provider& provider, auto& emit) { return push(provider, emit); }, sink,
            stream_options());
        outcome_.end = reply.has_value() ? "ok" : fail_text(reply.error());
      }
    });
  }

  // In a coroutine, whose sink is one too.
  Outcome co_push_stream(bool thrown) {
    return observe([&] {
      const planb::ExecutionPlan<Provider> plan = make_plan();
      const auto sink = [this](int item) -> planb::Task<bool> { co_return receive(item); };
      const auto sleep = [this](planb::Duration time) -> planb::Task<> {
        clock_.advance(time);
        co_return;
      };
      if (thrown) {
        planb::sync_wait(planb::co_push_with_plan<planb::Task<>>(
            plan,
            [this](const Provider& provider, auto& emit) -> planb::Task<> {
              const Reply<std::string> reply = co_await co_push(provider, emit);
              if (!reply.has_value()) throw reply.error();
            },
            sink, sleep, stream_options()));
        outcome_.end = "ok";
      } else {
        const Reply<std::string> reply = planb::sync_wait(planb::co_push_with_plan<planb::Task<Reply<std::string>>>(
            plan, [this](const Provider& provider, auto& emit) { return co_push(provider, emit); }, sink, sleep,
            stream_options()));
        outcome_.end = reply.has_value() ? "ok" : fail_text(reply.error());
      }
    });
  }

  Outcome pull_stream(bool thrown) {
    return observe([&] {
      const planb::ExecutionPlan<Provider> plan = make_plan();
      if (thrown) {
        auto stream = planb::stream_with_plan(
            plan, [this](const Provider& provider) { return Items<int>(*this, provider); }, stream_options());
        for (const int item : stream) {
          if (!receive(item)) break;
        }
      } else {
        auto stream = planb::stream_with_plan(
            plan, [this](const Provider& provider) { return Items<Reply<int>>(*this, provider); }, stream_options());
        for (const Reply<int>& item : stream) {
          if (!receive(*item)) break;
        }
      }
      outcome_.end = "ok";
    });
  }

 private:
  [[nodiscard]] planb::EventHandler recorder() {
    return planb::overloaded{
        [this](const planb::AttemptStart& event) { outcome_.events.push_back(event_text("start", event)); },
        [this](const planb::AttemptSuccess& event) { outcome_.events.push_back(event_text("success", event)); },
        [this](const planb::AttemptFailure& event) {
          outcome_.events.push_back(event_text("failure", event) + " " + cause_text(event.cause));
        }};
  }

  [[nodiscard]] planb::ExecutionPlan<Provider> make_plan() {
    std::vector<planb::Step<Provider>> steps;
    for (std::size_t i = 0; i != case_.steps.size(); ++i) {
      const CaseStep& described = case_.steps[i];
      planb::Step<Provider>& step = steps.emplace_back(planb::Step<Provider>{
          .name = described.name, .provide = [this, i] { return build(i); }, .attempts = described.attempts});
      if (described.schedule) {
        step.schedule = *described.schedule;
        if (!described.attempts && !step.schedule.ends()) step.attempts = planb::unlimited;
      }
      if (described.retry_statuses) {
        step.retry_while = [&statuses = *described.retry_statuses](const ProviderFailure& failure) {
          return std::find(statuses.begin(), statuses.end(), failure.status) != statuses.end();
        };
      }
    }
    return planb::ExecutionPlan<Provider>(std::move(steps));
  }

  Provider build(std::size_t step) {
    ++builds_[step];
    return {static_cast<int>(step)};
  }

  // What a run does, and how it ends.
  template <class Run>
  Outcome observe(Run&& run) {
    try {
      run();
    } catch (const ProviderFailure& failure) {
      outcome_.end = fail_text(failure);
    } catch (const planb::Defect&) {
      outcome_.end = "defect";
    } catch (const std::exception& error) {
      outcome_.end = std::string("unexpected exception: ") + error.what();
    }
    outcome_.metadata = metadata_;
    outcome_.items = items_;
    std::string builds;
    for (const int count : builds_) builds += (builds.empty() ? "" : " ") + std::to_string(count);
    outcome_.builds = builds;
    return std::move(outcome_);
  }

  [[nodiscard]] planb::StreamOptions stream_options() {
    return {.on_event = recorder(),
            .clock = &clock_,
            .entry = case_.entry,
            .failure = planb::FailureStyle::original,
            .partial = case_.prevent_fallback.value_or(false) ? planb::PartialStream::prevent_fallback
                                                              : planb::PartialStream::allow};
  }

  // The consumer. False: it wants no more.
  bool receive(int item) {
    items_ += (items_.empty() ? "" : " ") + std::to_string(item);
    return ++received_ != case_.take;
  }

  const Call& next_call(const Provider& provider) {
    if (++total_calls_ > most_calls) throw planb::Defect("the run does not end");
    const auto step = static_cast<std::size_t>(provider.step_index);
    const std::vector<Call>& script = case_.steps[step].calls;
    return script[std::min(calls_[step]++, script.size() - 1)];
  }

  // The end of a call, after what it emits.
  Reply<std::string> end_call(const Call& now, const Provider& provider) {
    clock_.advance(now.after);
    if (now.does == Does::defect) throw planb::Defect("as the case says");
    if (now.does == Does::fail) return Reply<std::string>(ProviderFailure{now.status, provider.step_index});
    return Reply<std::string>(case_.steps[static_cast<std::size_t>(provider.step_index)].name);
  }

  template <class Emit>
  Reply<std::string> push(const Provider& provider, Emit& emit) {
    const Call& now = next_call(provider);
    for (const int item : now.emit) {
      if (!emit(item)) return Reply<std::string>("the consumer wants no more");
    }
    return end_call(now, provider);
  }

  template <class Emit>
  planb::Task<Reply<std::string>> co_push(const Provider& provider, Emit& emit) {
    const Call& now = next_call(provider);
    for (const int item : now.emit) {
      const bool goes_on = co_await emit(item);
      if (!goes_on) co_return Reply<std::string>("the consumer wants no more");
    }
    co_return end_call(now, provider);
  }

  // What a call emits, made as it is asked for. Where an Item can be an error, that is how the call fails.
  template <class Item>
  class Items {
   public:
    class Iterator {
     public:
      using iterator_concept = std::input_iterator_tag;
      using difference_type = std::ptrdiff_t;
      using value_type = Item;

      explicit Iterator(Items& items) : items_(&items) {}
      const Item& operator*() const { return *items_->item_; }
      Iterator& operator++() {
        items_->make_next();
        return *this;
      }
      void operator++(int) { items_->make_next(); }
      friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

     private:
      [[nodiscard]] bool at_end() const { return !items_->item_; }

      Items* items_;
    };

    Items(CaseRun& run, const Provider& provider) : run_(run), provider_(provider), call_(run.next_call(provider)) {}
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;

    [[nodiscard]] Iterator begin() {
      make_next();
      return Iterator(*this);
    }
    [[nodiscard]] static std::default_sentinel_t end() { return std::default_sentinel; }

   private:
    void make_next() {
      item_.reset();
      if (made_ != call_.emit.size()) {
        item_.emplace(call_.emit[made_++]);
      } else if (const Reply<std::string> reply = run_.end_call(call_, provider_); !reply.has_value()) {
        if constexpr (std::is_same_v<Item, int>) {
          throw reply.error();
        } else {
          item_.emplace(reply.error());
        }
      }
    }

    CaseRun& run_;
    const Provider& provider_;  // lives as long as its stream
    const Call& call_;
    std::size_t made_ = 0;
    std::optional<Item> item_;
  };

  Reply<std::string> call(const Provider& provider) {
    const planb::Metadata metadata = planb::CurrentMetadata::get();
    metadata_ +=
        (metadata_.empty() ? "" : " ") + std::to_string(metadata.attempt) + "/" + std::to_string(metadata.step_index);
    return end_call(next_call(provider), provider);
  }

  std::string call_throwing(const Provider& provider) {
    const Reply<std::string> reply = call(provider);
    if (!reply.has_value()) throw reply.error();
    return *reply;
  }

  static std::string fail_text(const ProviderFailure& failure) {
    return "fail " + std::to_string(failure.status) + " " + std::to_string(failure.step_index);
  }

  const Case& case_;
  planb::testing::VirtualClock clock_;
  std::vector<std::size_t> calls_;
  std::vector<int> builds_;
  std::size_t total_calls_ = 0;
  int received_ = 0;
  std::string metadata_;
  std::string items_;
  Outcome outcome_;
};

// Prints what differs, under the name of its case.
class Comparison {
 public:
  Comparison(std::string place, std::string form) : place_(std::move(place)), form_(std::move(form)) {}

  void events(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
    for (std::size_t i = 0; i != std::max(expected.size(), actual.size()); ++i) {
      const std::string* const e = i < expected.size() ? &expected[i] : nullptr;
      const std::string* const a = i < actual.size() ? &actual[i] : nullptr;
      if (e != nullptr && a != nullptr && *e == *a) continue;
      // One that differs shifts those behind it: the first says it all.
      return differ("event " + std::to_string(i + 1), e != nullptr ? *e : "none", a != nullptr ? *a : "none");
    }
  }

  void line(const char* what, const std::optional<std::string>& expected, const std::optional<std::string>& actual) {
    if (expected != actual) differ(what, expected.value_or("none"), actual.value_or("none"));
  }

  [[nodiscard]] bool same() const { return same_; }

 private:
  void differ(const std::string& what, const std::string& expected, const std::string& actual) {
    if (same_) std::cout << place_ << " (" << form_ << ")\n";
    same_ = false;
    std::cout << "  " << what << "\n    expected: " << expected << "\n    actual:   " << actual << '\n';
  }

  std::string place_;
  std::string form_;
  bool same_ = true;
};

bool same_outcome(const Case& described, const std::string& place, const char* form, bool thrown,
                  const Outcome& actual) {
  const Outcome& expected = described.expected;
  Comparison comparison(place, std::string(form) + "errors " + (thrown ? "thrown" : "returned"));
  comparison.events(expected.events, actual.events);
  if (described.is_stream()) {
    comparison.line("items", expected.items, actual.items);
  } else {
    comparison.line("metadata", expected.metadata, actual.metadata);
  }
  comparison.line("builds", expected.builds, actual.builds);
  comparison.line("outcome", expected.end, actual.end);
  return comparison.same();
}

bool run_case(const Case& described, const std::string& place) {
  bool same = true;
  for (const bool thrown : {true, false}) {
    if (described.is_stream()) {
      same &= same_outcome(described, place, "pushed, ", thrown, CaseRun(described).push_stream(thrown));
      same &=
          same_outcome(described, place, "pushed in a coroutine, ", thrown, CaseRun(described).co_push_stream(thrown));
      same &= same_outcome(described, place, "pulled, ", thrown, CaseRun(described).pull_stream(thrown));
    } else {
      same &= same_outcome(described, place, "", thrown, CaseRun(described).run_plan(thrown));
    }
  }
  return same;
}

struct Tally {
  int passed = 0;
  int failed = 0;
};

// One block of lines, as one case.
bool run_block(const std::string& file, const std::vector<Line>& lines) {
  CaseReader reader;
  bool readable = true;
  const auto complain = [&](int line, const std::string& what) {
    std::cout << file << ":" << line << ": " << (reader.name().empty() ? "a block without a name" : reader.name())
              << ": " << what << '\n';
    readable = false;
  };
  for (const Line& line : lines) {
    try {
      reader.read(line.text);
    } catch (const Unreadable& error) {
      complain(line.number, error.what());
      if (reader.name().empty()) break;  // nothing in the block can be read
    }
  }
  if (!readable) return false;
  try {
    const Case described = reader.finish();
    const std::string place = file + ":" + std::to_string(lines.front().number) + ": " + described.name;
    return run_case(described, place);
  } catch (const std::exception& error) {  // also a plan that is refused
    complain(lines.front().number, error.what());
    return false;
  }
}

void run_file(const std::string& file, Tally& tally) {
  std::ifstream in(file);
  if (!in) {
    std::cout << file << ": cannot be opened\n";
    ++tally.failed;
    return;
  }
  std::vector<Line> block;
  int blocks = 0;
  const auto run = [&] {
    if (block.empty()) return;
    ++blocks;
    ++(run_block(file, block) ? tally.passed : tally.failed);
    block.clear();
  };
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.find_first_not_of(' ') == std::string::npos) {
      run();
    } else {
      block.push_back({number, text});
    }
  }
  run();
  if (in.bad() || blocks == 0) {
    std::cout << file << (in.bad() ? ": cannot be read\n" : ": holds no case\n");
    ++tally.failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  if (argc < 2) std::cout << "Usage: conformance FILE...\n";
  for (int i = 1; i < argc; ++i) run_file(argv[i], tally);
  std::cout << tally.passed << " passed, " << tally.failed << " failed" << std::endl;
  return tally.failed == 0 && tally.passed != 0 ? 0 : 1;
}
