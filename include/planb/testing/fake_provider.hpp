// FakeProvider: a provider defined by what it does at each call.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/time/clock.hpp>
#include <planb/time/duration.hpp>
#include <planb/time/optional_duration.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::testing {

// What a provider does at one call: answers with a value, fails with a status, or throws something.
class Behaviour {
 public:
  // Answers with this text.
  [[nodiscard]] static Behaviour value(std::string text) {
    Behaviour b;
    b.text_ = std::move(text);
    return b;
  }

  // Throws ProviderError with this status; the message defaults to the status' usual phrase.
  [[nodiscard]] static Behaviour status(int code, std::string message = {}) {
    Behaviour b;
    b.status_ = code;
    b.text_ = message.empty() ? phrase(code) : std::move(message);
    return b;
  }

#if PLANB_HAS_EXCEPTIONS
  // Throws a copy of `error`, which may be of any type.
  template <class E>
  [[nodiscard]] static Behaviour throws(E error) {
    Behaviour b;
    b.raise_ = detail::Function<void()>([kept = std::move(error)] { throw E(kept); });
    return b;
  }
#endif

  // The call takes this long: it waits on the provider's clock first.
  [[nodiscard]] Behaviour after(SaturatedDuration delay) const {
    Behaviour b = *this;
    b.delay_ = delay;
    return b;
  }

  // A streamed call gives these elements first. Its delay comes after them.
  [[nodiscard]] Behaviour emits(std::vector<std::string> elements) const {
    Behaviour b = *this;
    b.elements_ = std::move(elements);
    return b;
  }

  // The error carries the provider's own code, and a wait hint.
  [[nodiscard]] Behaviour code(std::string text) const {
    Behaviour b = *this;
    b.code_ = std::move(text);
    return b;
  }
  [[nodiscard]] Behaviour retry_after(SaturatedDuration hint) const {
    Behaviour b = *this;
    b.retry_after_ = hint;
    return b;
  }

 private:
  friend class FakeProvider;

  [[nodiscard]] static std::string phrase(int code) {
    switch (code) {
      case 400: return "bad request";
      case 401: return "unauthorized";
      case 403: return "forbidden";
      case 404: return "not found";
      case 408: return "request timeout";
      case 429: return "too many requests";
      case 500: return "internal server error";
      case 502: return "bad gateway";
      case 503: return "service unavailable";
      case 504: return "gateway timeout";
      case 529: return "overloaded";
      default: return {};
    }
  }

  int status_ = 0;
  std::string text_;
  std::string code_;
  std::vector<std::string> elements_;
  std::optional<Duration> retry_after_;
  Duration delay_{};
  detail::Function<void()> raise_;
};

// Does what it is told, call by call; the last behaviour repeats. It records its calls, and imitates no vendor. A
// handle: copies share the calls, so it may be a ready value, `.provide = fake`, or come from a factory. May be shared
// by threads.
class FakeProvider {
 public:
  // What a call gives in a program without exceptions.
  struct Reply {
    std::optional<std::string> value;
    int status = 0;
    std::string message;
  };

  // Without behaviours it answers with its own name. Delays wait on `clock`.
  explicit FakeProvider(std::string name, std::vector<Behaviour> behaviours = {}, Clock* clock = nullptr)
      : state_(std::make_shared<State>(std::move(name), std::move(behaviours), clock)) {}

  [[nodiscard]] const std::string& name() const noexcept { return state_->name; }

  // How often it was called, and with what.
  [[nodiscard]] std::size_t calls() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->prompts.size();
  }
  [[nodiscard]] std::vector<std::string> prompts() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->prompts;
  }

  // Forgets its calls and begins again with the first behaviour.
  void reset() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->prompts.clear();
  }

#if PLANB_HAS_EXCEPTIONS
  // One call. A delay ends early when `stop` is requested, with a ProviderError without a status.
  std::string complete(const std::string& prompt = {}, const StopToken& stop = {}) const {
    return end(begin(prompt, stop), stop);
  }
  std::string operator()(const std::string& prompt = {}, const StopToken& stop = {}) const {
    return complete(prompt, stop);
  }

  // One streamed call: hands its elements to give(const std::string&) as long as that says true, and ends as a call
  // does.
  template <class Emit>
  std::string stream(Emit&& give, const std::string& prompt = {}, const StopToken& stop = {}) const {
    const Behaviour behaviour = record(prompt);
    for (const std::string& element : behaviour.elements_) {
      if (!give(element)) return behaviour.text_;
    }
    wait(behaviour, stop);
    return end(behaviour, stop);
  }
#endif

  // The same call, with a failed status as a value.
  Reply reply(const std::string& prompt = {}, const StopToken& stop = {}) const {
    const Behaviour behaviour = begin(prompt, stop);
    if (stop.stop_requested()) return {std::nullopt, 0, "stopped"};
    if (behaviour.raise_) behaviour.raise_();
    if (behaviour.status_ == 0) return {behaviour.text_, 0, {}};
    return {std::nullopt, behaviour.status_, behaviour.text_};
  }

 private:
  struct State {
    State(std::string n, std::vector<Behaviour> b, Clock* c) : name(std::move(n)), behaviours(std::move(b)), clock(c) {}

    const std::string name;
    const std::vector<Behaviour> behaviours;
    Clock* const clock;
    std::mutex mutex;
    std::vector<std::string> prompts;
  };

  // Records the call, waits, and gives what this call does.
  [[nodiscard]] Behaviour begin(const std::string& prompt, const StopToken& stop) const {
    const Behaviour behaviour = record(prompt);
    wait(behaviour, stop);
    return behaviour;
  }

#if PLANB_HAS_EXCEPTIONS
  [[nodiscard]] static std::string end(const Behaviour& behaviour, const StopToken& stop) {
    if (stop.stop_requested()) throw ProviderError("stopped");
    if (behaviour.raise_) behaviour.raise_();
    if (behaviour.status_ == 0) return behaviour.text_;
    throw ProviderError(behaviour.status_, behaviour.text_, behaviour.code_, behaviour.retry_after_);
  }
#endif

  [[nodiscard]] Behaviour record(const std::string& prompt) const {
    std::size_t call = 0;
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      call = state_->prompts.size();
      state_->prompts.push_back(prompt);
    }
    if (state_->behaviours.empty()) return Behaviour::value(state_->name);
    return state_->behaviours[call < state_->behaviours.size() ? call : state_->behaviours.size() - 1];
  }

  void wait(const Behaviour& behaviour, const StopToken& stop) const {
    if (behaviour.delay_ <= Duration::zero()) return;
    Clock& clock = state_->clock != nullptr ? *state_->clock : SteadyClock::instance();
    clock.sleep_until(detail::add(clock.now(), behaviour.delay_), stop);
  }

  std::shared_ptr<State> state_;
};

}  // namespace planb::inline PLANB_ABI::testing
