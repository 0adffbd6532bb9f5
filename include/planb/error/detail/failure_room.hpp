// SPDX-License-Identifier: MIT
// What an attempt leaves that failed, before the engine hears of it, and how a result that carries an error is read.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/held.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/result_traits.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

struct Failure {
  Cause cause;
  std::optional<Verdict> verdict = std::nullopt;  // an acceptance check's, which stands before the classifier's
  // What such a check, or the result itself when it was asked, threw.
  std::optional<Cause> callback_error = std::nullopt;
};

// Room for a Failure that an attempt may leave. Nothing is built for one that succeeds.
class FailureRoom : public Held<Failure> {
 public:
  // `make()` gives the cause, in place.
  template <class Make>
  void build(Make&& make, std::optional<Verdict> verdict = std::nullopt) {
    Held<Failure>::build([&] { return Failure{make(), verdict}; });
  }

#if PLANB_HAS_EXCEPTIONS
  // From what is being handled, thrown by a callback: that ends the run.
  PLANB_COLD_DECL void build_by_callback();
#endif
};

// How far an attempt has come: what is thrown then is the attempt's failure, or comes too late for that.
enum class Stage : unsigned char {
  calling,
  answered,  // its value stands: what its move or its destructor throws leaves the run, and leads to no other attempt
  failed,    // its failure was kept: what a destructor throws after it is dropped, but for a Defect
};

// Keeps what is being handled, whose cause `make()` gives.
template <class Make>
PLANB_NOINLINE void keep_thrown(Stage stage, FailureRoom& room, Make&& make) {
#if PLANB_HAS_EXCEPTIONS
  if (stage == Stage::answered) throw;
  if (stage == Stage::failed) {
    Cause later = make();
    if (later.kind() != CauseKind::defect) return;
    room.destroy();
    return room.build([&] { return std::move(later); });
  }
#else
  static_cast<void>(stage);
#endif
  room.build(make);
}

// Asks a callback, or a result, which `question()` does. False: it threw, and `room` was filled.
template <class Question>
[[nodiscard]] bool is_answered([[maybe_unused]] FailureRoom& room, Question question) {
#if PLANB_HAS_EXCEPTIONS
  if constexpr (!noexcept(question())) {
    try {
      question();
      return true;
    } catch (...) {
      if (detail::unwinding()) throw;
      room.build_by_callback();
      return false;
    }
  }
#endif
  question();
  return true;
}

// Gives what `use(get())` gives, where `get()` asks a result: what that throws, as its value() and error() may, is a
// callback's and fills `room`: false. What `use` throws leaves.
template <class Get, class Use>
[[nodiscard]] bool ask_of([[maybe_unused]] FailureRoom& room, Get get, const Use& use) {
#if PLANB_HAS_EXCEPTIONS
  bool given = false;
  try {
    decltype(auto) got = get();
    given = true;
    return use(std::forward<decltype(got)>(got));
  } catch (...) {
    if (given || detail::unwinding()) throw;
    room.build_by_callback();
    return false;
  }
#else
  return use(get());
#endif
}

// Out of line, so that GCC does not copy the result piecemeal where it is a success. What the error's copy throws is
// the attempt's failure, as if it had been thrown.
template <class R>
PLANB_NOINLINE void keep_error(std::remove_reference_t<R>& result, FailureRoom& room) {
  using Traits = result_traits<std::remove_cvref_t<R>>;
  static_assert(!cannot_be_kept<decltype(Traits::error(std::forward<R>(result)))>,
                "planb: a result's error cannot be copied: let its `error()` on an rvalue give it up, or give a copy");
  static_cast<void>(detail::ask_of(
      room, [&]() -> decltype(auto) { return Traits::error(std::forward<R>(result)); },
      [&]<class E>(E&& error) {
        room.build([&] { return Cause::of(std::forward<E>(error)); });
        return true;
      }));
}

// Whether `result` carries an error, or throws when it is asked; `room` was filled then.
template <class R>
[[nodiscard]] bool carries_error(std::remove_reference_t<R>& result, FailureRoom& room) {
  bool has_value = false;
  const auto ask = [&]() noexcept(noexcept(result_traits<std::remove_cvref_t<R>>::has_value(result))) {
    has_value = detail::has_value(std::as_const(result));
  };
  if (!detail::is_answered(room, ask)) return true;
  if (has_value) return false;
  detail::keep_error<R>(result, room);
  return true;
}

// A FailureRoom that knows whether it is full, and ends what is in it where nobody takes it over.
class FailureKeeper {
 public:
  FailureKeeper() noexcept = default;
  FailureKeeper(const FailureKeeper&) = delete;
  FailureKeeper& operator=(const FailureKeeper&) = delete;
  ~FailureKeeper() { clear(); }

  void clear() noexcept {
    if (stage_ == Stage::failed) room_.destroy();
    stage_ = Stage::calling;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return stage_ == Stage::failed; }
  [[nodiscard]] Cause& cause() noexcept { return room_.get().cause; }
  [[nodiscard]] bool defect() const noexcept {
    return stage_ == Stage::failed && room_.get().cause.kind() == CauseKind::defect;
  }

  // To be filled by somebody else, who then says filled().
  [[nodiscard]] FailureRoom& room() noexcept { return room_; }
  void filled() noexcept { stage_ = Stage::failed; }
  // Filled, but not by what is being handled.
  void keep(Cause&& cause) {
    room_.build([&] { return std::move(cause); });
    stage_ = Stage::failed;
  }
  // The attempt has its value.
  void answered() noexcept { stage_ = Stage::answered; }
  [[nodiscard]] bool has_answer() const noexcept { return stage_ == Stage::answered; }

  // Keeps what is being handled.
  template <class Make>
  void keep_thrown(Make&& make) {
    detail::keep_thrown(stage_, room_, std::forward<Make>(make));
    stage_ = Stage::failed;
  }

  // For whoever takes the failure over, and ends its life: the keeper is empty then.
  [[nodiscard]] FailureRoom& release() noexcept {
    stage_ = Stage::calling;
    return room_;
  }

 private:
  FailureRoom room_;
  Stage stage_ = Stage::calling;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/failure_room.hpp>  // IWYU pragma: export
#endif
