// A circuit breaker that many machines share: its state is in Redis. Where Redis is slow or gone, calls pass.
#pragma once

#include <planb/gates.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "link.hpp"
#include "script.hpp"

namespace redis_gate {

// What the breaker has to say.
struct Event {
  enum What {
    opened,  // by a failure of this process
    closed,  // by a probe of this process
    lost,    // Redis does not answer: until it is back, calls pass, and nothing is learned from them
    back,
  };

  What what;
  std::string text = {};  // of a loss: why
};

struct BreakerOptions {
  Server server = {};
  std::string name = {};  // for events and reports; machines that use the same one share a breaker
  std::string prefix = "planb:breaker:";

  int failure_threshold = 5;                   // consecutive failures, of all machines together
  std::chrono::milliseconds open_for{30'000};  // or as long as the failure's wait hint says, where that is longer
  std::chrono::milliseconds longest_hint{3'600'000};
  std::chrono::milliseconds probe_timeout{30'000};  // after it, another machine may find out
  std::chrono::milliseconds keep_for{600'000};      // without a failure or a probe: then all is forgotten
  planb::Duration patience = planb::Duration::zero();

  // Called by the thread that came to know it. What it throws is dropped.
  std::function<void(const Event&)> on_event = {};
};

class Breaker final : public planb::Gate {
 public:
  explicit Breaker(BreakerOptions options) : options_(std::move(options)), link_(options_.server, script) {}

  [[nodiscard]] planb::Admission admit(const planb::GateRequest& request) override {
    const std::optional<Answer> answer = ask("admit", {}, options_.open_for, request.now);
    if (!answer) return planb::Permit(*this, 0, request.now);
    if (answer->wait.count() > 0) return refusal_of(*answer, request.now);
    return planb::Permit(*this, ticket_of({answer->kind, answer->number}), request.now);
  }

  // From what this process has last heard: only admit() asks.
  [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return known_ && known_->opens_at > request.now ? known_->opens_at : request.now;
  }
  [[nodiscard]] planb::GateRefusal refusal(const planb::GateRequest& request) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return known_ && known_->opens_at > request.now ? *known_ : planb::GateRefusal{.opens_at = request.now};
  }
  [[nodiscard]] std::string_view name() const override { return options_.name; }
  [[nodiscard]] planb::Duration patience() const override { return options_.patience; }

 private:
  // What the script says, and what a permit remembers of it.
  enum Kind { none, clean, counting, probe, open, busy, opened, closed };
  struct Answer {
    Kind kind;
    std::int64_t number;
    std::chrono::microseconds wait;
  };
  struct Ticket {
    Kind kind = none;  // none: it was given without Redis
    std::int64_t number = 0;
  };
  static std::uint64_t ticket_of(Ticket ticket) {
    return static_cast<std::uint64_t>(ticket.number) << 3U | static_cast<std::uint64_t>(ticket.kind);
  }
  static Ticket read(std::uint64_t ticket) {
    return {static_cast<Kind>(ticket & 7U), static_cast<std::int64_t>(ticket >> 3U)};
  }

  static planb::GateRefusal refusal_of(const Answer& answer, planb::TimePoint now) {
    return {.opens_at = now + answer.wait,
            .reason = answer.kind == busy ? planb::GateReason::probe_running : planb::GateReason::circuit_open};
  }

  // Where all is well, a success is no news: one round trip for the whole attempt.
  void on_outcome(std::uint64_t mark, const planb::GateOutcome& outcome) override {
    const Ticket ticket = read(mark);
    if (ticket.kind == none || (ticket.kind == clean && outcome.cause == nullptr)) return;
    if (outcome.cause == nullptr) {
      ask("succeeded", ticket, options_.open_for, outcome.now);
    } else if (outcome.cause->kind() == planb::CauseKind::interrupted ||
               outcome.cause->kind() == planb::CauseKind::defect) {
      on_dropped(mark, true);
    } else {
      const auto hint =
          std::chrono::ceil<std::chrono::milliseconds>(outcome.cause->retry_after().value_or(planb::Duration::zero()));
      ask("failed", ticket, (std::max)(options_.open_for, (std::min)(hint, options_.longest_hint)), outcome.now);
    }
  }
  // Half-open, a first output has said enough.
  void on_first_output(std::uint64_t mark, planb::TimePoint now) override {
    if (const Ticket ticket = read(mark); ticket.kind == probe) ask("succeeded", ticket, options_.open_for, now);
  }
  void on_dropped(std::uint64_t mark, bool /*used*/) noexcept override try {
    if (const Ticket ticket = read(mark); ticket.kind == probe) ask("dropped", ticket, options_.open_for, std::nullopt);
  } catch (...) {
    // Its place is free again when the probe's time is over.
  }
  void describe(planb::GateSnapshot& snapshot) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshot.kind = "redis_breaker";
    snapshot.state = link_.is_lost() ? "unreachable" : known_ ? "open" : "closed";
    if (known_) snapshot.open_until = known_->opens_at;
  }

  // Without an answer the call passes.
  std::optional<Answer> ask(const char* what, Ticket ticket, std::chrono::milliseconds open_for,
                            std::optional<planb::TimePoint> now) {
    const auto microseconds = [](std::chrono::microseconds time) { return std::to_string(time.count()); };
    std::string why;
    const std::optional<Link::Numbers> numbers =
        link_.run({"1", options_.prefix + options_.name, what, std::to_string(ticket.kind),
                   std::to_string(ticket.number), std::to_string(options_.failure_threshold), microseconds(open_for),
                   microseconds(options_.probe_timeout), microseconds(options_.keep_for)},
                  why);
    if (!numbers || numbers->size() != 3) {
      know(std::nullopt);
      if (!why.empty()) tell({Event::lost, why});
      return std::nullopt;
    }
    const Answer answer{static_cast<Kind>((*numbers)[0]), (*numbers)[1], std::chrono::microseconds((*numbers)[2])};
    if (link_.is_back()) tell({Event::back});
    if (now) know(answer.wait.count() > 0 ? std::optional(refusal_of(answer, *now)) : std::nullopt);
    if (answer.kind == opened) tell({Event::opened});
    if (answer.kind == closed) tell({Event::closed});
    return answer;
  }
  void know(std::optional<planb::GateRefusal> refusal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    known_ = std::move(refusal);
  }
  void tell(const Event& event) const {
    try {
      if (options_.on_event) options_.on_event(event);
    } catch (...) {
      // Whoever listens changes nothing.
    }
  }

  const BreakerOptions options_;
  Link link_;
  mutable std::mutex mutex_;
  std::optional<planb::GateRefusal> known_;  // what this process last heard; none: calls pass
};

[[nodiscard]] inline std::shared_ptr<Breaker> breaker(BreakerOptions options) {
  return std::make_shared<Breaker>(std::move(options));
}

}  // namespace redis_gate
