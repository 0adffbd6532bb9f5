// SPDX-License-Identifier: MIT
// AttemptLog: an event handler that remembers.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/event.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace planb::inline PLANB_ABI::testing {

// Hand it to RunOptions::on_event. A handle: copies share what was recorded. May be shared by threads.
class AttemptLog {
 public:
  // The steps' names, one for each attempt, in order. Compares with any std::vector of strings.
  class Names : public std::vector<std::string> {
   public:
    using std::vector<std::string>::vector;

    friend bool operator==(const Names& a, const Names& b) {
      return static_cast<const std::vector<std::string>&>(a) == static_cast<const std::vector<std::string>&>(b);
    }

    template <class S>
      requires std::convertible_to<const S&, std::string_view>
    friend bool operator==(const Names& names, const std::vector<S>& expected) {
      if (names.size() != expected.size()) return false;
      for (std::size_t i = 0; i != expected.size(); ++i) {
        if (names[i] != std::string_view(expected[i])) return false;
      }
      return true;
    }
  };

  void operator()(const Event& event) const;

  [[nodiscard]] Names names() const;

  // What attempts and steps did, in order: starts, successes, failures and skipped steps.
  [[nodiscard]] std::vector<Event> events() const;

  // The same with the other events, FirstOutput and RunFinish.
  [[nodiscard]] std::vector<Event> all() const;

  // The events of one kind, whichever, such as of<AttemptFailure>().
  template <class E>
  [[nodiscard]] std::vector<E> of() const {
    std::vector<E> found;
    for (const Event& event : all()) {
      if (const E* const e = event.template get_if<E>()) found.push_back(*e);
    }
    return found;
  }

  // Each of events() as a line, as to_string(event) gives it.
  [[nodiscard]] std::vector<std::string> lines() const;

  void clear() const;

 private:
  struct State {
    std::mutex mutex;
    std::vector<Event> events;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace planb::inline PLANB_ABI::testing

#if !PLANB_SEPARATE_COMPILATION
#include <planb/testing/impl/attempt_log.hpp>  // IWYU pragma: export
#endif
