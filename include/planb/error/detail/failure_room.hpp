// What an attempt leaves that failed, before the engine hears of it, and how a result that carries an error is read.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/result_traits.hpp>

#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

struct Failure {
  Cause cause;
  std::optional<Verdict> verdict = std::nullopt;   // an acceptance check's, which stands before the classifier's
  std::optional<Cause> rule_error = std::nullopt;  // what such a check, or the result itself when it was asked, threw
};

// Room for a Failure that an attempt may leave. Nothing is built for one that succeeds.
union FailureRoom {
  FailureRoom() noexcept {}   // NOLINT(modernize-use-equals-default)
  ~FailureRoom() noexcept {}  // NOLINT(modernize-use-equals-default)

  Failure failure;

  // `make()` gives the cause, in place.
  template <class Make>
  void build(Make&& make, std::optional<Verdict> verdict = std::nullopt) {
    ::new (static_cast<void*>(std::addressof(failure))) Failure{make(), verdict};
  }

#if PLANB_HAS_EXCEPTIONS
  // From what is being handled, thrown by a rule: that ends the run.
  PLANB_COLD_DECL void build_by_rule();
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
    room.failure.~Failure();
    return room.build([&] { return std::move(later); });
  }
#else
  static_cast<void>(stage);
#endif
  room.build(make);
}

// Asks a rule, or a result, which `question()` does. False: it threw, and `room` was filled.
template <class Question>
[[nodiscard]] bool is_answered([[maybe_unused]] FailureRoom& room, Question question) {
#if PLANB_HAS_EXCEPTIONS
  if constexpr (!noexcept(question())) {
    try {
      question();
      return true;
    } catch (...) {
      if (detail::unwinding()) throw;
      room.build_by_rule();
      return false;
    }
  }
#endif
  question();
  return true;
}

// Out of line, so that GCC does not copy the result piecemeal where it is a success.
template <class R>
PLANB_NOINLINE void keep_error(std::remove_reference_t<R>& result, FailureRoom& room) {
  using Traits = result_traits<std::remove_cvref_t<R>>;
  static_assert(!cannot_be_kept<decltype(Traits::error(std::forward<R>(result)))>,
                "planb: a result's error cannot be copied: let its `error()` on an rvalue give it up, or give a copy");
#if PLANB_HAS_EXCEPTIONS
  bool given = false;  // by the result: what its copy throws is the attempt's failure, as if it had been thrown
  try {
    decltype(auto) error = Traits::error(std::forward<R>(result));
    given = true;
    room.build([&] { return Cause::of(std::forward<decltype(error)>(error)); });
  } catch (...) {
    if (given || detail::unwinding()) throw;
    room.build_by_rule();
  }
#else
  room.build([&] { return Cause::of(Traits::error(std::forward<R>(result))); });
#endif
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
    if (stage_ == Stage::failed) room_.failure.~Failure();
    stage_ = Stage::calling;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return stage_ == Stage::failed; }
  [[nodiscard]] Cause& cause() noexcept { return room_.failure.cause; }
  [[nodiscard]] bool defect() const noexcept {
    return stage_ == Stage::failed && room_.failure.cause.kind() == CauseKind::defect;
  }

  // To be filled by somebody else, who then says filled().
  [[nodiscard]] FailureRoom& room() noexcept { return room_; }
  void filled() noexcept { stage_ = Stage::failed; }
  // Filled, but not by what is being handled.
  void keep(Cause&& cause);
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
