// SPDX-License-Identifier: MIT
// What a schedule is made of: a tree of immutable nodes, each stepping through a little state that a run owns.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/schedule/detail/random.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

namespace planb::inline PLANB_ABI {

class Cause;

namespace detail {

inline constexpr Duration no_cap = (Duration::max)();

// Limits, built or parsed: stepping through a schedule recurses, and one that holds another twice grows fast.
inline constexpr int max_schedule_depth = 128;
inline constexpr int max_schedule_parts = 4096;

// The question, handed down the tree.
struct ScheduleAsk {
  TimePoint now;
  const Cause& cause;
  Random& random;
  Duration cap = no_cap;  // from the combinators further out: what comes back must not be longer
};

// The answer, handed up; none where the schedule has ended.
struct Wait {
  Wait(Duration d) noexcept : delay(d) {}  // NOLINT(google-explicit-constructor): a rule returns a duration

  Duration delay;
  Duration cap = no_cap;  // from the combinators further in: jitter further out must not go beyond it
  double spread = 1;      // drawn from [spread, 1] × some delay; 1 where nothing was drawn
};

using Answer = std::optional<Wait>;

// Takes down what a schedule is made of.
class ScheduleWriter {
 public:
  virtual void word(std::string_view text) = 0;
  virtual void open(std::string_view name) = 0;
  virtual void add(Duration value) = 0;
  virtual void add(double value) = 0;
  virtual void add(int value) = 0;
  virtual void add(const class ScheduleNode& inner) = 0;
  virtual void add_function() = 0;
  virtual void close() = 0;

 protected:
  ~ScheduleWriter() = default;
};

// The states of a whole tree lie in one block, a node's own before those of its children.
struct alignas(std::max_align_t) StateSlot {
  std::byte bytes[alignof(std::max_align_t)];
};

struct NoState {};

template <class State>
inline constexpr std::size_t slots_for = std::is_empty_v<State>
                                             ? 0
                                             : (sizeof(State) + sizeof(StateSlot) - 1) / sizeof(StateSlot);

template <class State>
void start_state(StateSlot* at, State state) noexcept {
  static_assert(std::is_trivially_copyable_v<State> && std::is_trivially_destructible_v<State>);
  if constexpr (slots_for<State> != 0) ::new (static_cast<void*>(at)) State(state);
}

template <class State>
State& state_at(StateSlot* at) noexcept {
  if constexpr (slots_for<State> == 0) {
    static State none;
    return none;
  } else {
    return *std::launder(reinterpret_cast<State*>(at));
  }
}

class ScheduleNode {
 public:
  ScheduleNode(const ScheduleNode&) = delete;
  ScheduleNode& operator=(const ScheduleNode&) = delete;
  virtual ~ScheduleNode() = default;

  [[nodiscard]] std::size_t slot_count() const noexcept { return slot_count_; }
  [[nodiscard]] bool ends() const noexcept { return ends_; }
  [[nodiscard]] int depth() const noexcept { return depth_; }
  [[nodiscard]] int parts() const noexcept { return parts_; }

  virtual void start(StateSlot* state) const noexcept = 0;

  // Not asked again once it has ended.
  virtual Answer next(StateSlot* state, const ScheduleAsk& ask) const = 0;

  virtual void describe(ScheduleWriter& out) const = 0;

 protected:
  ScheduleNode(std::size_t slot_count, bool ends, int depth, int parts) noexcept
      : slot_count_(slot_count), ends_(ends), depth_(depth), parts_(parts) {}

 private:
  std::size_t slot_count_;
  bool ends_;
  int depth_;
  int parts_;
};

using NodePtr = std::shared_ptr<const ScheduleNode>;

}  // namespace detail
}  // namespace planb::inline PLANB_ABI
