// Cause: why an attempt failed, whether its error was thrown or returned.
#pragma once

#include <planb/clock.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/error_ops.hpp>
#include <planb/error_traits.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

enum class CauseKind : unsigned char {
  error,        // the attempt's own error, thrown or returned
  timeout,      // the attempt's time was up; its error, if it left one, is kept
  interrupted,  // the caller asked to stop, or the attempt was abandoned
  rejected,     // an acceptance check refused the value; the value is kept
  defect,       // a bug in this program
};

// What is to be done about a cause.
enum class Action : unsigned char {
  retry,         // no objection: retry_while, attempts and the schedule decide
  next_step,     // leave this step
  next_guarded,  // leave this step for a later one whose enter_when accepts the cause; abort where none does
  abort,         // end the run
};

struct Verdict {
  Action action = Action::retry;
  bool alert = false;  // somebody should hear of it, whatever the run makes of it

  friend constexpr bool operator==(Verdict, Verdict) noexcept = default;
};

// "A bug in this program": never retried, never falls back; leaves every driver as it was thrown.
class PLANB_VISIBLE Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// What Cause::rethrow() throws for an attempt that ran out of time without an error of its own.
class PLANB_VISIBLE AttemptTimeout : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "timed out"; }
};

namespace detail {
struct CauseAccess;
}

// Why an attempt failed. Owns its error, so it may be stored beyond the run; copying it copies a returned error and
// shares a thrown one, or one that is larger than 64 bytes or cannot be copied. A returned error of up to 64 bytes is
// held without allocation.
class Cause {
 public:
  // An unknown error.
  Cause() noexcept {}  // NOLINT(modernize-use-equals-default): so that a const one needs no initialiser

  // The exception that is being handled. Call it inside a `catch`; elsewhere it gives an unknown error.
  [[nodiscard]] static Cause current();

  // A returned error, or an exception that another thread caught (std::exception_ptr).
  template <class E>
  [[nodiscard]] static Cause of(E&& error);

  // The attempt's time was up.
  [[nodiscard]] static Cause timed_out() noexcept {
    Cause cause;
    cause.kind_ = CauseKind::timeout;
    return cause;
  }

  Cause(const Cause& other);
  PLANB_INLINE Cause(Cause&& other) noexcept
      : kind_(other.kind_), held_(other.held_), is_value_(other.is_value_), ops_(other.ops_) {
    take(other);
  }
  Cause& operator=(const Cause& other) {
    if (this != &other) *this = Cause(other);
    return *this;
  }
  Cause& operator=(Cause&& other) noexcept {
    if (this != &other) {
      reset();
      kind_ = other.kind_;
      held_ = other.held_;
      is_value_ = other.is_value_;
      ops_ = other.ops_;
      take(other);
    }
    return *this;
  }
  ~Cause() {
    if (held_ != Held::nothing) destroy();
  }

  [[nodiscard]] CauseKind kind() const noexcept { return kind_; }

  // The error as an E, or null. A thrown error matches as a handler `catch (const E&)` would, a returned one by its
  // exact type. The pointer is good for as long as this Cause lives unchanged.
  template <class E>
  [[nodiscard]] const E* get_if() const {
    static_assert(std::is_same_v<E, std::remove_cvref_t<E>>, "planb: name the error type without const or reference");
    static_assert(!std::is_pointer_v<E>, "planb: an error of pointer type cannot be looked up in a Cause");
    if (held_ == Held::inside && ops_->type == detail::type_id<E>()) return std::addressof(as<E>());
    return find<E>();
  }

  // What the error says of itself, read through error_traits, or as the ProviderError that it also is. A thrown error
  // can be read if it derives from ProviderError, or if its type is named in the plan (section "Errors" of the guide).
  [[nodiscard]] std::optional<int> status() const;
  [[nodiscard]] std::string code() const;  // empty: none
  [[nodiscard]] std::optional<Duration> retry_after() const;
  [[nodiscard]] std::string message() const;

  // The error as an exception: the thrown one itself, or a copy of the returned one. Null without exceptions.
  [[nodiscard]] std::exception_ptr exception() const;

  // Throws the error: the thrown one itself, a returned one as itself, a refused value as RejectedValue, AttemptTimeout
  // where there is none but the time was up. Ends the program in a build without exceptions.
  [[noreturn]] void rethrow() const;

 private:
  friend struct detail::CauseAccess;

  enum class Held : unsigned char { nothing, inside, thrown, shared };

  static constexpr std::size_t room = 64;

  template <class E>
  static constexpr bool fits = sizeof(E) <= room && alignof(E) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<E> && std::is_copy_constructible_v<E>;

  template <class T>
  [[nodiscard]] T& as() noexcept {
    return *std::launder(reinterpret_cast<T*>(room_));
  }
  template <class T>
  [[nodiscard]] const T& as() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(room_));
  }

  // The error as what ops_ knows, or null.
  [[nodiscard]] const void* object() const noexcept {
    switch (held_) {
      case Held::inside: return room_;
      case Held::shared: return as<std::shared_ptr<void>>().get();
      case Held::thrown: return as<detail::Thrown>().named;
      case Held::nothing: break;
    }
    return nullptr;
  }

  [[nodiscard]] const ProviderError* provider_error() const {
    if (held_ != Held::thrown || (PLANB_STABLE_EXCEPTIONS && as<detail::Thrown>().known == nullptr)) return nullptr;
    return get_if<ProviderError>();
  }

  void hold(detail::Thrown&& thrown) noexcept {
    ::new (static_cast<void*>(room_)) detail::Thrown(std::move(thrown));
    held_ = Held::thrown;
  }

  // Takes what `other` holds into room_, and leaves it empty.
  PLANB_INLINE void take(Cause& other) noexcept {
    if (held_ == Held::inside) {
      ops_->move(other.room_, room_);
    } else if (held_ != Held::nothing) {
      move_from(other);
    }
    other.held_ = Held::nothing;
    other.ops_ = nullptr;
  }
  void reset() noexcept {
    if (held_ != Held::nothing) destroy();
    held_ = Held::nothing;
    ops_ = nullptr;
  }

  template <class E>
  [[nodiscard]] PLANB_NOINLINE const E* find() const;
  void move_from(Cause& other) noexcept;
  void destroy() noexcept;

  CauseKind kind_ = CauseKind::error;
  Held held_ = Held::nothing;
  bool is_value_ = false;  // what is held is a refused value, whatever the kind has become
  const detail::ErrorOps* ops_ = nullptr;
  alignas(std::max_align_t) std::byte room_[room];
};

// What Cause::rethrow() throws for a value that an acceptance check refused: get_if<T>() on its cause gives the value.
class PLANB_VISIBLE RejectedValue : public std::exception {
 public:
  explicit RejectedValue(const Cause& cause)
      : state_(std::make_shared<const std::pair<Cause, std::string>>(cause, cause.message())) {}

  [[nodiscard]] const Cause& cause() const noexcept { return state_->first; }
  [[nodiscard]] const char* what() const noexcept override { return state_->second.c_str(); }

 private:
  std::shared_ptr<const std::pair<Cause, std::string>> state_;
};

namespace detail {

// The engine's ways into a Cause.
struct CauseAccess {
#if PLANB_HAS_EXCEPTIONS
  // Inside a handler for `e`.
  [[nodiscard]] static PLANB_COLD Cause caught(const std::exception& e, CauseKind kind = CauseKind::error) noexcept {
    Cause cause;
    Thrown thrown{std::current_exception()};
#if PLANB_STABLE_EXCEPTIONS
    thrown.known = &e;
#else
    static_cast<void>(e);
#endif
    cause.hold(std::move(thrown));
    cause.kind_ = kind;
    return cause;
  }

  // For a pointer to something that does not derive from std::exception.
  [[nodiscard]] static PLANB_COLD Cause caught_unknown(std::exception_ptr pointer) noexcept {
    Cause cause;
    cause.hold(Thrown{std::move(pointer)});
    return cause;
  }
#endif

  static void set_kind(Cause& cause, CauseKind kind) noexcept { cause.kind_ = kind; }

  static void set_rejected(Cause& cause) noexcept {
    cause.kind_ = CauseKind::rejected;
    cause.is_value_ = true;
  }

  // Whether rethrow() has something to say: an error or a value, or a kind that stands for one.
  [[nodiscard]] static bool tells(const Cause& cause) noexcept {
    return cause.held_ != Cause::Held::nothing || cause.kind_ == CauseKind::timeout || cause.is_value_;
  }
  [[nodiscard]] static bool holds(const Cause& cause) noexcept { return cause.held_ != Cause::Held::nothing; }
  [[nodiscard]] static bool is_thrown(const Cause& cause) noexcept { return cause.held_ == Cause::Held::thrown; }

  // Looks for the types that the plan names in a thrown error, so that it can be read through error_traits. Of several
  // that it is, the one that says most is kept.
  static void name(Cause& cause, const ErrorOps* const* types, std::size_t count) {
    if (cause.held_ != Cause::Held::thrown || cause.ops_ != nullptr) return;
    Thrown& thrown = cause.as<Thrown>();
    std::size_t missed = 0;
    for (const ErrorOps* const* type = types; type != types + count; ++type) {
      if (thrown.known != nullptr && (*type)->says == 0) continue;  // its what() says as much
      if (cause.ops_ != nullptr && (*type)->says <= cause.ops_->says) continue;
      if (const void* const object = (*type)->find(thrown)) {
        thrown.named = object;
        cause.ops_ = *type;
      } else if (!(*type)->cheap_to_find && missed != std::size(thrown.missed)) {
        thrown.missed[missed++] = *type;
      }
    }
  }

  // The returned error of this type, if that is what the cause holds. It is moved out where nobody else has it: the
  // cause is not to be read any more.
  template <class E>
  [[nodiscard]] static std::optional<E> take_returned(Cause& cause) {
    if constexpr (std::is_same_v<E, std::exception_ptr>) {  // such an error is held as the exception that it points to
      if (cause.held_ == Cause::Held::thrown) return cause.as<Thrown>().pointer;
    } else if constexpr (std::is_same_v<E, Cause>) {
      return cause;
    } else {
      const bool returned = cause.held_ == Cause::Held::inside || cause.held_ == Cause::Held::shared;
      if (!returned || cause.is_value_ || !same_type(cause.ops_->type, type_id<E>())) return std::nullopt;
      E& error = *static_cast<E*>(const_cast<void*>(cause.object()));
      if constexpr (std::is_copy_constructible_v<E>) {
        const bool shared = cause.held_ == Cause::Held::shared && cause.as<std::shared_ptr<void>>().use_count() != 1;
        if (shared) return std::optional<E>(std::in_place, std::as_const(error));
      }
      return std::optional<E>(std::in_place, std::move(error));
    }
    return std::nullopt;
  }
};

#if PLANB_HAS_EXCEPTIONS
// A text for exceptions that no class describes.
[[nodiscard]] inline std::string describe_unknown(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const std::exception& e) {
    return e.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text != nullptr ? text : "unknown exception";
  } catch (int number) {
    return std::to_string(number);
  } catch (...) {
    return "unknown exception";
  }
}
#endif

}  // namespace detail

inline Cause Cause::current() {
#if PLANB_HAS_EXCEPTIONS
  return of(std::current_exception());
#else
  return {};
#endif
}

template <class E>
Cause Cause::of(E&& error) {
  using Error = std::remove_cvref_t<std::conditional_t<std::is_array_v<std::remove_reference_t<E>>, std::string, E>>;
  Cause cause;
  if constexpr (std::is_same_v<Error, Cause>) {
    return std::forward<E>(error);
  } else if constexpr (std::is_same_v<Error, std::exception_ptr>) {
#if PLANB_HAS_EXCEPTIONS
    if (error == nullptr) return cause;
    try {
      std::rethrow_exception(error);
    } catch (const Defect& e) {
      return detail::CauseAccess::caught(e, CauseKind::defect);
    } catch (const std::exception& e) {
      return detail::CauseAccess::caught(e);
    } catch (...) {
      return detail::CauseAccess::caught_unknown(std::forward<E>(error));
    }
#endif
  } else {
    static_assert(std::is_move_constructible_v<Error>, "planb: an error must be movable to be kept in a Cause");
    if constexpr (fits<Error>) {
      ::new (static_cast<void*>(cause.room_)) Error(std::forward<E>(error));
      cause.held_ = Held::inside;
    } else {
      ::new (static_cast<void*>(cause.room_)) std::shared_ptr<void>(std::make_shared<Error>(std::forward<E>(error)));
      cause.held_ = Held::shared;
    }
    cause.ops_ = &detail::error_ops<Error>;
    if constexpr (std::is_base_of_v<Defect, Error>) cause.kind_ = CauseKind::defect;
  }
  return cause;
}

inline Cause::Cause(const Cause& other) : kind_(other.kind_), is_value_(other.is_value_), ops_(other.ops_) {
  switch (other.held_) {
    case Held::nothing: break;
    case Held::thrown: ::new (static_cast<void*>(room_)) detail::Thrown(other.as<detail::Thrown>()); break;
    case Held::inside: other.ops_->copy(other.room_, room_); break;
    case Held::shared:
      ::new (static_cast<void*>(room_)) std::shared_ptr<void>(other.as<std::shared_ptr<void>>());
      break;
  }
  held_ = other.held_;
}

inline void Cause::move_from(Cause& other) noexcept {
  switch (held_) {
    case Held::nothing: break;
    case Held::thrown:
      ::new (static_cast<void*>(room_)) detail::Thrown(std::move(other.as<detail::Thrown>()));
      other.as<detail::Thrown>().~Thrown();
      break;
    case Held::inside: ops_->move(other.room_, room_); break;
    case Held::shared:
      ::new (static_cast<void*>(room_)) std::shared_ptr<void>(std::move(other.as<std::shared_ptr<void>>()));
      other.as<std::shared_ptr<void>>().~shared_ptr();
      break;
  }
}

inline void Cause::destroy() noexcept {
  switch (held_) {
    case Held::nothing: break;
    case Held::thrown: as<detail::Thrown>().~Thrown(); break;
    case Held::inside:
      if (!ops_->trivial) ops_->destroy(room_);
      break;
    case Held::shared: as<std::shared_ptr<void>>().~shared_ptr(); break;
  }
}

template <class E>
const E* Cause::find() const {
  if (const void* known = object(); known != nullptr && detail::same_type(ops_->type, detail::type_id<E>())) {
    return static_cast<const E*>(known);
  }
#if PLANB_HAS_EXCEPTIONS
  if (held_ == Held::thrown) {
    const detail::Thrown& thrown = as<detail::Thrown>();
    for (const detail::ErrorOps* const missed : thrown.missed) {
      if (missed != nullptr && detail::same_type(missed->type, detail::type_id<E>())) return nullptr;
    }
    return detail::find_thrown<E>(thrown);
  }
#endif
  return nullptr;
}

inline std::optional<int> Cause::status() const {
  std::optional<int> found;
  if (const void* error = object()) found = ops_->status(error);
  if (found) return found;
  if (const ProviderError* error = provider_error()) found = detail::read_status(*error);
  return found;
}

inline std::string Cause::code() const {
  std::string found;
  if (const void* error = object()) found = ops_->code(error);
  if (!found.empty()) return found;
  if (const ProviderError* error = provider_error()) found = detail::read_code(*error);
  return found;
}

inline std::optional<Duration> Cause::retry_after() const {
  std::optional<Duration> found;
  if (const void* error = object()) found = ops_->retry_after(error);
  if (found) return found;
  if (const ProviderError* error = provider_error()) found = detail::read_retry_after(*error);
  return found;
}

inline std::string Cause::message() const {
  std::string text;
  if (const void* error = object()) {
    text = ops_->message(error);
  }
#if PLANB_HAS_EXCEPTIONS
  if (held_ == Held::thrown && text.empty()) {
    const detail::Thrown& thrown = as<detail::Thrown>();
    text = thrown.known != nullptr ? thrown.known->what() : detail::describe_unknown(thrown.pointer);
  }
#endif
  if (is_value_) return text.empty() ? "value rejected" : "value rejected: " + text;
  if (!text.empty() || status()) return text;
  switch (kind_) {
    case CauseKind::timeout: return "timed out";
    case CauseKind::interrupted: return "interrupted";
    case CauseKind::rejected: return "value rejected";
    case CauseKind::error:
    case CauseKind::defect: break;
  }
  return "unknown error";
}

inline std::exception_ptr Cause::exception() const {
#if PLANB_HAS_EXCEPTIONS
  if (held_ == Held::thrown) return as<detail::Thrown>().pointer;
  try {
    rethrow();
  } catch (...) {
    return std::current_exception();
  }
#else
  return nullptr;
#endif
}

inline void Cause::rethrow() const {
#if PLANB_HAS_EXCEPTIONS
  if (is_value_) throw RejectedValue(*this);
  switch (held_) {
    case Held::thrown: std::rethrow_exception(as<detail::Thrown>().pointer);
    case Held::inside:
    case Held::shared: ops_->raise(object()); break;
    case Held::nothing: break;
  }
  if (kind_ == CauseKind::timeout) throw AttemptTimeout();
  throw std::runtime_error(message());
#else
  std::abort();
#endif
}

namespace detail {

// A cause in one line: its status, where its message does not start with it, and its message.
[[nodiscard]] inline std::string describe(const Cause& cause) {
  std::string text = cause.message();
  if (const std::optional<int> status = cause.status()) {
    const std::string number = std::to_string(*status);
    const bool starts_with_it =
        text.compare(0, number.size(), number) == 0 &&
        (text.size() == number.size() || text[number.size()] < '0' || text[number.size()] > '9');
    if (!starts_with_it) text = text.empty() ? number : number + " " + text;
  }
  if (cause.kind() == CauseKind::timeout && CauseAccess::holds(cause)) text = "timed out: " + text;
  return text;
}

}  // namespace detail

}  // namespace planb::inline PLANB_ABI
