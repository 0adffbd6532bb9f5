// Fallback chains of fake providers, and what is to be seen of a run in short.
#pragma once

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chains {

using planb::Duration;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using Strings = std::vector<std::string>;



[[nodiscard]] inline std::string ms(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + "ms";
}

// Each event in short: time, kind, attempt/step_index, status.
[[nodiscard]] inline Strings story(const AttemptLog& log) {
  Strings lines;
  const auto line = [&](const auto& event, const char* kind) {
    lines.push_back(ms(event.at.time_since_epoch()) + " " + kind + " " + std::to_string(event.attempt) + "/" +
                    std::to_string(event.step_index));
  };
  for (const planb::Event& event : log.events()) {
    event.visit(planb::overloaded{[&](const planb::AttemptStart& e) { line(e, "start"); },
                                  [&](const planb::AttemptSuccess& e) { line(e, "success"); },
                                  [&](const planb::AttemptFailure& e) {
                                    line(e, "failure");
                                    lines.back().append(1, ' ').append(std::to_string(e.cause.status().value_or(0)));
                                  },
                                  [&](const planb::StepSkipped&) { lines.push_back("skipped"); }, [](const auto&) {}});
  }
  return lines;
}

[[nodiscard]] inline std::vector<Duration> start_times(const AttemptLog& log) {
  std::vector<Duration> times;
  for (const auto& start : log.of<planb::AttemptStart>()) times.push_back(start.at.time_since_epoch());
  return times;
}

// What the plan decided to wait after each failure; of a failure that is not retried, nothing.
[[nodiscard]] inline std::vector<std::optional<Duration>> decided_delays(const AttemptLog& log) {
  std::vector<std::optional<Duration>> delays;
  for (const auto& failure : log.of<planb::AttemptFailure>()) {
    const bool retried = failure.next.kind == planb::NextMove::retry;
    delays.push_back(retried ? std::optional(failure.next.delay) : std::nullopt);
  }
  return delays;
}

inline const auto ask = [](const FakeProvider& provider) { return provider.complete("hello"); };

[[nodiscard]] inline FakeProvider failing(std::string name, int status) {
  return FakeProvider(std::move(name), {Behaviour::status(status)});
}

// A step that fails all its attempts.
[[nodiscard]] inline planb::Step<FakeProvider> failing_step(std::string name, int status, std::optional<int> attempts = std::nullopt) {
  return {.name = name, .provide = failing(name, status), .attempts = attempts};
}

// An expected-like of a hand-made kind.
struct Refused {
  int status = 0;
};

class Answer {
 public:
  explicit Answer(std::string text) : text_(std::move(text)) {}
  explicit Answer(Refused error) : error_(error) {}

  [[nodiscard]] bool has_value() const { return text_.has_value(); }
  [[nodiscard]] const std::string& operator*() const { return *text_; }
  [[nodiscard]] const Refused& error() const { return error_; }

 private:
  std::optional<std::string> text_;
  Refused error_;
};

}  // namespace chains
