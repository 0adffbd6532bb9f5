// Streams by script, run in any form: what the consumer sees must not depend on it.
#pragma once

#include <planb/coro.hpp>
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace streams {

struct Client {
  int id = 0;
};

// What one call does: gives these elements, each after a while; then, after another while, it fails with the status, or
// ends.
struct Call {
  std::vector<int> elements = {};
  std::optional<int> status = std::nullopt;
  planb::Duration before_each{};
  planb::Duration before_end{};
};

// The calls of a run, in order, whatever step makes them. More calls than it has: the test is wrong.
class Script {
 public:
  explicit Script(std::vector<Call> calls, planb::testing::VirtualClock* clock = nullptr)
      : calls_(std::move(calls)), clock_(clock) {}

  [[nodiscard]] const Call& next() {
    if (made_ == calls_.size()) throw planb::Defect("more calls than the test has");
    return calls_[made_++];
  }
  [[nodiscard]] std::size_t made() const { return made_; }

  // A client that gives up when its time is up, and else takes as long as it takes.
  void wait(planb::Duration time, const planb::Attempt& attempt) const {
    if (time == planb::Duration::zero()) return;
    const std::optional<planb::Duration> timeout = attempt.timeout();
    if (!timeout || time < *timeout) return clock_->advance(time);
    clock_->advance(*timeout);
    throw planb::ProviderError("gave up waiting");
  }

  static void end(const Call& call) {
    if (call.status) throw planb::ProviderError(*call.status, "as the test says");
  }

 private:
  std::vector<Call> calls_;
  planb::testing::VirtualClock* clock_;
  std::size_t made_ = 0;
};

// The push form of a call.
struct Producer {
  Script& script;

  template <class Emit>
  void operator()(const Client&, Emit& emit, const planb::Attempt& attempt) const {
    const Call& call = script.next();
    for (const int element : call.elements) {
      script.wait(call.before_each, attempt);
      if (!emit(element)) return;
    }
    script.wait(call.before_end, attempt);
    Script::end(call);
  }
};

// The same in a coroutine.
struct CoProducer {
  Script& script;

  template <class Emit>
  planb::Task<> operator()(const Client&, Emit& emit, planb::Attempt attempt) const {
    const Call& call = script.next();
    for (const int element : call.elements) {
      script.wait(call.before_each, attempt);
      const bool wanted = co_await emit(element);
      if (!wanted) co_return;
    }
    script.wait(call.before_end, attempt);
    Script::end(call);
  }
};

// The pull form of a call: lazy, and gone through once.
class Elements {
 public:
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = int;

    explicit Iterator(Elements& elements) : elements_(&elements) {}
    const int& operator*() const { return elements_->call_->elements[elements_->at_]; }
    Iterator& operator++() {
      ++elements_->at_;
      elements_->make();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    [[nodiscard]] bool at_end() const { return elements_->at_ == elements_->call_->elements.size(); }

    Elements* elements_;
  };

  Elements(Script& script, const planb::Attempt& attempt) : script_(&script), attempt_(attempt) {}

  [[nodiscard]] Iterator begin() {
    call_ = &script_->next();
    make();
    return Iterator(*this);
  }
  [[nodiscard]] static std::default_sentinel_t end() { return std::default_sentinel; }

 private:
  void make() const {
    if (at_ != call_->elements.size()) return script_->wait(call_->before_each, attempt_);
    script_->wait(call_->before_end, attempt_);
    Script::end(*call_);
  }

  Script* script_;
  planb::Attempt attempt_;
  const Call* call_ = nullptr;
  std::size_t at_ = 0;
};

struct Source {
  Script& script;

  Elements operator()(const Client&, const planb::Attempt& attempt) const { return Elements(script, attempt); }
};

enum class Form { push, pull, co_push };

// Waits of a run in a coroutine, by its clock.
struct Sleep {
  planb::Clock* clock;

  planb::Task<> operator()(planb::Duration time, planb::StopToken stop) const {
    clock->sleep_until(clock->now() + time, std::move(stop));
    co_return;
  }
};

// By co_push_with_plan, into a sink that is a coroutine too.
template <class Producer, class Consume>
void co_push(const planb::ExecutionPlan<Client>& plan, Producer producer, Consume& consume,
             const planb::StreamOptions& options) {
  const auto sink = [&consume](int element) -> planb::Task<bool> { co_return consume(element); };
  planb::sync_wait(
      planb::co_push_with_plan<planb::Task<>>(plan, std::move(producer), sink, Sleep{options.clock}, options));
}

// What the consumer saw, and how the run ended for it.
struct Seen {
  std::vector<int> items = {};
  std::string end = "ok";
  std::size_t delivered = 0;  // as the error, or the pulled stream, says
};

// A consumer that wants `take` elements, and spends `pace` on each.
struct Consumer {
  std::size_t take = (std::numeric_limits<std::size_t>::max)();
  planb::testing::VirtualClock* clock = nullptr;
  planb::Duration pace{};
  Seen seen = {};

  bool operator()(int element) {
    seen.items.push_back(element);
    if (clock != nullptr) clock->advance(pace);
    return seen.items.size() < take;
  }
};

inline Seen run(Form form, const planb::ExecutionPlan<Client>& plan, Script& script,
                const planb::StreamOptions& options = {}, Consumer consumer = {}) {
  try {
    if (form == Form::push) {
      planb::push_with_plan(plan, Producer{script}, consumer, options);
    } else if (form == Form::co_push) {
      co_push(plan, CoProducer{script}, consumer, options);
    } else {
      auto stream = planb::stream_with_plan(plan, Source{script}, options);
      for (const int element : stream) {
        if (!consumer(element)) break;
      }
      consumer.seen.delivered = stream.report().delivered;
    }
  } catch (const planb::PlanError& error) {
    consumer.seen.end = error.what();
    consumer.seen.delivered = error.report().delivered;
  } catch (const planb::ProviderError& error) {
    consumer.seen.end = error.what();
  } catch (const planb::Defect& error) {
    consumer.seen.end = std::string("defect: ") + error.what();
  }
  return consumer.seen;
}

}  // namespace streams
