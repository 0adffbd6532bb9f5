// SPDX-License-Identifier: MIT
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
  [[nodiscard]] static Behaviour status(int code, std::string message = {});

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
  [[nodiscard]] Behaviour after(SaturatedDuration delay) const;

  // A streamed call gives these elements first. Its delay comes after them.
  [[nodiscard]] Behaviour emits(std::vector<std::string> elements) const;

  // The error carries the provider's own code, and a wait hint.
  [[nodiscard]] Behaviour code(std::string text) const;
  [[nodiscard]] Behaviour retry_after(SaturatedDuration hint) const;

 private:
  friend class FakeProvider;

  [[nodiscard]] static std::string phrase(int code);

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
  explicit FakeProvider(std::string name, std::vector<Behaviour> behaviours = {}, Clock* clock = nullptr);

  [[nodiscard]] const std::string& name() const noexcept { return state_->name; }

  // How often it was called, and with what.
  [[nodiscard]] std::size_t calls() const;
  [[nodiscard]] std::vector<std::string> prompts() const;

  // Forgets its calls and begins again with the first behaviour.
  void reset() const;

#if PLANB_HAS_EXCEPTIONS
  // One call. A delay ends early when `stop` is requested, with a ProviderError without a status.
  std::string complete(const std::string& prompt = {}, const StopToken& stop = {}) const;
  std::string operator()(const std::string& prompt = {}, const StopToken& stop = {}) const;

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
  Reply reply(const std::string& prompt = {}, const StopToken& stop = {}) const;

 private:
  struct State {
    State(std::string n, std::vector<Behaviour> b, Clock* c);

    const std::string name;
    const std::vector<Behaviour> behaviours;
    Clock* const clock;
    std::mutex mutex;
    std::vector<std::string> prompts;
  };

  // Records the call, waits, and gives what this call does.
  [[nodiscard]] Behaviour begin(const std::string& prompt, const StopToken& stop) const;

#if PLANB_HAS_EXCEPTIONS
  [[nodiscard]] static std::string end(const Behaviour& behaviour, const StopToken& stop);
#endif

  [[nodiscard]] Behaviour record(const std::string& prompt) const;

  void wait(const Behaviour& behaviour, const StopToken& stop) const;

  std::shared_ptr<State> state_;
};

}  // namespace planb::inline PLANB_ABI::testing

#if !PLANB_SEPARATE_COMPILATION
#include <planb/testing/impl/fake_provider.hpp>  // IWYU pragma: export
#endif
