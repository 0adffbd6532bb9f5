// SPDX-License-Identifier: MIT
// Cause: why an attempt failed, whether its error was thrown or returned.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/error_ops.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/provider_error.hpp>
#include <planb/error/verdict.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
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

[[nodiscard]] constexpr std::string_view to_label(CauseKind value) noexcept {
  switch (value) {
    case CauseKind::error: return "error";
    case CauseKind::timeout: return "timeout";
    case CauseKind::interrupted: return "interrupted";
    case CauseKind::rejected: return "rejected";
    case CauseKind::defect: return "defect";
  }
  return {};
}

// "A bug in this program": never retried, never falls back; leaves every driver as it was thrown.
class PLANB_VISIBLE Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// What Cause::rethrow() throws for an attempt that ran out of time without an error of its own.
class PLANB_VISIBLE AttemptTimeout : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override;
};

namespace detail {
struct CauseAccess;

// An lvalue of which no copy can be made: an abstract base, or a type that can only be moved.
template <class E>
constexpr bool cannot_be_kept =
    std::is_lvalue_reference_v<E> && std::is_class_v<std::remove_cvref_t<E>> &&
    !std::is_constructible_v<std::remove_cvref_t<E>, E>;
}  // namespace detail

// Why an attempt failed. Owns its error, so it may be stored beyond the run; copying it copies a returned error and
// shares a thrown one, or one that is larger than 64 bytes or cannot be copied. A returned error of up to 64 bytes is
// held without allocation. A `const char*` or a std::string_view, thrown or returned, is kept as a std::string; so is
// any view of characters that is returned, and one of wide characters as a std::wstring.
class Cause {
 public:
  // An unknown error.
  Cause() noexcept {}  // NOLINT(modernize-use-equals-default): so that a const one needs no initialiser

  // The exception that is being handled. Call it inside a `catch`; elsewhere it gives an unknown error.
  [[nodiscard]] static Cause current();

  // A returned error, or an exception that another thread caught (std::exception_ptr). An lvalue that is the exception
  // being handled, or a base of it, is taken as by current(), and not as a copy of that base. Of another exception's
  // base the Defect or ProviderError that it is are kept, and its what(); of what cannot be copied its text.
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
      : kind_(other.kind_), held_(other.held_), is_value_(other.is_value_), named_(other.named_), ops_(other.ops_) {
    take(other);
  }
  Cause& operator=(const Cause& other);
  Cause& operator=(Cause&& other) noexcept;
  ~Cause() {
    if (held_ != Held::nothing) destroy();
  }

  [[nodiscard]] CauseKind kind() const noexcept { return kind_; }

  // The error as an E, or null: a handler `catch (const E&)` would take it, whether it was thrown or returned. (Without
  // exceptions, a returned one matches by its exact type; with RTTI, if it is a std::exception, by its bases, too.) A
  // refused value matches by its exact type. The pointer is good for as long as this Cause lives unchanged.
  template <class E>
  [[nodiscard]] const E* get_if() const {
    static_assert(std::is_same_v<E, std::remove_cvref_t<E>>, "planb: name the error type without const or reference");
    static_assert(!std::is_pointer_v<E>, "planb: an error of pointer type cannot be looked up in a Cause");
    static_assert(!detail::is_borrowed_text<E>, "planb: a Cause keeps a text as a std::string: ask for that");
    if (held_ == Held::inside && ops_->type == detail::type_id<E>()) return std::addressof(as<E>());
    return find<E>();
  }

  // What the error says of itself, read through error_traits, or as the ProviderError that it also is. A thrown error
  // can be read if it derives from ProviderError, or if its type is named in the plan (section "Errors" of the guide).
  // Where it says nothing, what it wraps is asked, the outermost first: what a std::nested_exception nests, at most
  // eight deep, and the last error of a run that failed as a PlanError. Status and code come from the same error. A
  // reader that throws has said nothing.
  [[nodiscard]] std::optional<int> status() const;
  [[nodiscard]] std::string code() const;  // empty: none
  [[nodiscard]] std::optional<Duration> retry_after() const;
  [[nodiscard]] std::optional<bool> retryable() const;  // the error's own word, if it has one
  // Of the outer error alone. "<no text>" where it cannot be had.
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
      case Held::shared: return as<detail::SharedErrorPtr>().get();
      case Held::thrown: return as<detail::Thrown>().named;
      case Held::nothing: break;
    }
    return nullptr;
  }

  [[nodiscard]] const ProviderError* provider_error() const;

  // What the error says, and not what it wraps.
  [[nodiscard]] std::optional<int> own_status() const;
  [[nodiscard]] std::string own_code() const;
  [[nodiscard]] std::optional<Duration> own_retry_after() const;
  [[nodiscard]] std::optional<bool> own_retryable() const;

  // Whether the error may wrap another one; false costs nothing.
  [[nodiscard]] PLANB_INLINE bool may_wrap() const noexcept {
    switch (held_) {
      case Held::nothing: return false;
      case Held::thrown: return as<detail::Thrown>().wraps != detail::Thrown::Wraps::nothing;
      case Held::inside:
      case Held::shared: break;
    }
    return ops_->wrapped != nullptr && !is_value_;
  }

  void hold(detail::Thrown&& thrown) noexcept {
    static_assert(sizeof(detail::Thrown) <= room);
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

  // Of the error, the bases that the plan names, or the ProviderError that it is: the first that says something.
  template <class T>
  [[nodiscard]] T read(unsigned what, T (*detail::ErrorOps::*reader)(const void* error),
                       T (*of_provider)(const ProviderError& error)) const;
  // Of the bases that the plan names alone.
  template <class T>
  [[nodiscard]] T read_named(unsigned what, T (*detail::ErrorOps::*reader)(const void* error)) const;
  // An error that a callable returned, or a value, as it is.
  template <class E>
  void keep(E&& error);
  // The same of what may be a base of the object that is meant, or cannot be copied: as much of it as can be had.
  template <class E>
  void keep_base(E&& error);
  template <class E>
  void keep_object(E&& error);
  void keep_copy(const Defect& error);
  void keep_copy(const ProviderError& error);
  void keep_text(std::string text);
  template <class E>
  [[nodiscard]] const E* find() const;
  // The error as this type, which the two functions find in one that was returned and in one that was thrown; or null.
  [[nodiscard]] const void* find_by(detail::TypeId type,
                                    const void* (*in_returned)(const detail::ErrorOps& ops, const void* error),
                                    const void* (*in_thrown)(const detail::Thrown& thrown)) const;
  void move_from(Cause& other) noexcept;  // of what is not held inside
  void destroy() noexcept;

  CauseKind kind_ = CauseKind::error;
  Held held_ = Held::nothing;
  bool is_value_ = false;  // what is held is a refused value, whatever the kind has become
  std::uint16_t named_ = 0;  // the types that the plan names, by their number, where the error may be more of them
  const detail::ErrorOps* ops_ = nullptr;
  alignas(std::max_align_t) std::byte room_[room];
};

// What Cause::rethrow() throws for a value that an acceptance check refused: get_if<T>() on its cause gives the value.
class PLANB_VISIBLE RejectedValue : public std::exception {
 public:
  explicit RejectedValue(const Cause& cause);

  [[nodiscard]] const Cause& cause() const noexcept { return state_->first; }
  [[nodiscard]] const char* what() const noexcept override;

 private:
  std::shared_ptr<const std::pair<Cause, std::string>> state_;
};

namespace detail {

// What `read()` gives, or where it throws `otherwise`.
template <class Read, class T>
[[nodiscard]] T read_or(T otherwise, Read read) {
#if PLANB_HAS_EXCEPTIONS
  try {
    return read();
  } catch (...) {
    if (detail::unwinding()) throw;
    return otherwise;
  }
#else
  static_cast<void>(otherwise);
  return read();
#endif
}

// The engine's ways into a Cause.
struct CauseAccess {
#if PLANB_HAS_EXCEPTIONS
  // Inside a handler for `e`.
  [[nodiscard]] static PLANB_COLD_DECL Cause caught(const std::exception& e,
                                                    CauseKind kind = CauseKind::error) noexcept;

  // For a pointer to something that does not derive from std::exception. Inside a handler for it.
  [[nodiscard]] static Cause caught_unknown(std::exception_ptr pointer) noexcept;
#endif

  static void set_kind(Cause& cause, CauseKind kind) noexcept { cause.kind_ = kind; }

  static void set_rejected(Cause& cause) noexcept;

  // A value that an acceptance check refused: it need not look like an error.
  template <class V>
  [[nodiscard]] static Cause of_value(V&& value) {
    Cause cause;
    cause.keep(std::forward<V>(value));
    set_rejected(cause);
    return cause;
  }

  // What the error itself says: for each layer of any_wrapped().
  [[nodiscard]] static std::optional<int> own_status(const Cause& cause) { return cause.own_status(); }
  [[nodiscard]] static std::string own_code(const Cause& cause) { return cause.own_code(); }

  // Whether Cause::retryable() has to be asked; false costs nothing.
  [[nodiscard]] static PLANB_INLINE bool may_tell_retryable(const Cause& cause) noexcept {
    return (cause.ops_ != nullptr && cause.ops_->retryable != nullptr) || cause.named_ != 0 || cause.may_wrap();
  }

  // Calls `use` with the error as what is known of it, and then as each base that the plan names and from which more of
  // `what` can be read, until that gives true.
  template <class Use>
  static void any_type(const Cause& cause, unsigned what, Use use) {
    const void* const error = cause.object();
    if (error == nullptr || ((cause.ops_->reads & what) != 0 && use(*cause.ops_, error))) return;
    any_named(cause, what, use);
  }
  template <class Use>
  static void any_named(const Cause& cause, unsigned what, Use use) {
    const void* const error = cause.object();
    if (cause.named_ == 0 || error == nullptr) return;  // a value has no names
    const NamedSet& set = named_sets[cause.named_];
    if ((set.reads & what) == 0) return;
    const bool is_base = cause.held_ == Cause::Held::thrown && !cause.as<Thrown>().exact;  // the object is more
    for (std::size_t i = 0; i != set.count; ++i) {
      const ErrorOps& type = *set.types[i];
      if (&type == cause.ops_ || (type.reads & what) == 0) continue;
      if (!is_base) {
        if (!may_add(type, *cause.ops_, what)) continue;
        if (const void* const base = type.find_base(*cause.ops_, error); base != nullptr && use(type, base)) return;
      } else if (!is_missed(cause.as<Thrown>(), i)) {
        Thrown thrown = cause.as<Thrown>();  // which may keep a copy of what is found
        if (const void* const base = type.find(thrown); base != nullptr && use(type, base)) return;
      }
    }
  }

  // Whether a base says something that a type derived from it need not have inherited.
  [[nodiscard]] static bool may_add(const ErrorOps& base, const ErrorOps& derived, unsigned what) noexcept {
    return base.find_base != nullptr && derived.is_class &&
           (base.has_traits || (base.reads & what & ~derived.reads) != 0);
  }

  [[nodiscard]] static bool is_missed(const Thrown& thrown, std::size_t i) noexcept {
    return i < 32 && (thrown.missed >> i & 1U) != 0;
  }

  // Calls `use` with what the error wraps, the outermost first and as a Cause of its own, until that gives true. The
  // error itself is not among them.
  template <class Use>
  static bool any_wrapped(const Cause& cause, Use use) {
    if (!cause.may_wrap()) return false;
    return visit_wrapped(
        cause, [](const Cause& layer, void* f) -> bool { return (*static_cast<Use*>(f))(layer); }, std::addressof(use));
  }
  static bool visit_wrapped(const Cause& outer, bool (*use)(const Cause&, void*), void* f);
  // What a cause wraps itself: no more than the addresses.
  [[nodiscard]] static Wrapped wrapped(const Cause& cause);

  // Whether rethrow() has something to say: an error or a value, or a kind that stands for one.
  [[nodiscard]] static bool tells(const Cause& cause) noexcept {
    return cause.held_ != Cause::Held::nothing || cause.kind_ == CauseKind::timeout || cause.is_value_;
  }
  [[nodiscard]] static bool holds(const Cause& cause) noexcept { return cause.held_ != Cause::Held::nothing; }

  // Looks for the types that the plan names in a thrown error, so that it can be read through error_traits. Of several
  // that it is, the one that says most is read first.
  static void name(Cause& cause, const ErrorOps* const* types, std::size_t count);

  // Whether name() has nothing to find: it is a returned error of the one type that the plan names, and wraps nothing.
  [[nodiscard]] static bool is_named(const Cause& cause, const ErrorOps* const* types, std::size_t count) noexcept {
    return count == 1 && cause.ops_ == *types && cause.held_ != Cause::Held::thrown && cause.ops_->wrapped == nullptr;
  }

  // A returned error is read as what it is, and where that says nothing as the bases that the plan names.
  static PLANB_INLINE void name_returned(Cause& cause, const ErrorOps* const* types, std::size_t count) {
    if (needs_names(cause, types, count)) cause.named_ = named_sets.joined(cause.named_, types, count);
  }
  [[nodiscard]] static PLANB_INLINE bool needs_names(const Cause& cause, const ErrorOps* const* types,
                                                     std::size_t count) {
    if (cause.held_ == Cause::Held::nothing || cause.is_value_ || count == 0) return false;
    if (cause.held_ == Cause::Held::thrown || cause.ops_->wrapped != nullptr) return true;
    for (const ErrorOps* const* type = types; type != types + count; ++type) {
      if (*type == cause.ops_ || !may_add(**type, *cause.ops_, Reads::all)) continue;
      if ((*type)->find_base(*cause.ops_, cause.object()) != nullptr) return true;
    }
    return false;
  }

  [[nodiscard]] static bool wraps([[maybe_unused]] const std::exception& error, [[maybe_unused]] TypeId type);

  // The returned error of this type, if that is what the cause holds. It is moved out where nobody else has it: the
  // cause is not to be read any more. One that cannot be copied, and that somebody else has, stays where it is.
  template <class E>
  [[nodiscard]] static std::optional<E> take_returned(Cause& cause) {
    if constexpr (std::is_same_v<E, std::exception_ptr>) {  // such an error is held as the exception that it points to
      if (cause.held_ == Cause::Held::thrown) return cause.as<Thrown>().pointer;
    } else if constexpr (std::is_same_v<E, Cause>) {
      return cause;
    } else {
      const bool returned = cause.held_ == Cause::Held::inside || cause.held_ == Cause::Held::shared;
      if (!returned || cause.is_value_ || cause.ops_->given == nullptr || !same_type(cause.ops_->given, type_id<E>())) {
        return std::nullopt;
      }
      void* const object = const_cast<void*>(cause.object());
      if (object == nullptr) return std::nullopt;  // never; without it GCC warns, with -Wnull-dereference
      if constexpr (is_borrowed_text<E>) {
        return static_cast<BorrowedText<E>*>(static_cast<OwnedText<E>*>(object))->original;
      } else {
        E& error = *static_cast<E*>(object);
        const bool shared = cause.held_ == Cause::Held::shared && !cause.as<SharedErrorPtr>().sole();
        if (!shared) return std::optional<E>(std::in_place, std::move(error));
        if constexpr (std::is_copy_constructible_v<E>) return std::optional<E>(std::in_place, std::as_const(error));
      }
    }
    return std::nullopt;
  }
};

// Whether `error` may be a base of the object that is meant.
template <bool IsLvalue, class E>
[[nodiscard]] bool may_be_sliced([[maybe_unused]] const E& error) noexcept {
#if PLANB_HAS_RTTI
  if constexpr (std::is_polymorphic_v<E>) return typeid(error) != typeid(E);
#endif
  return IsLvalue;
}

// Whether `error` is the exception that is being handled, or a base of it.
template <class E>
[[nodiscard]] bool is_being_handled([[maybe_unused]] const E& error) {
#if PLANB_HAS_EXCEPTIONS
  const std::exception_ptr handled = std::current_exception();
  bool same = false;
  if (handled != nullptr) {
    if_caught_as<E>(handled, [&](const E& e) { same = std::addressof(e) == std::addressof(error); });
  }
  return same;
#else
  return false;
#endif
}

// A copy of an exception's base, with the text of the whole.
template <class E>
class PLANB_VISIBLE SlicedError : public E {
 public:
  SlicedError(const E& base, std::string text) : E(base), text_(std::make_shared<const std::string>(std::move(text))) {}
  [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

template <class E, class... Of>
constexpr bool is_one_of = (std::is_same_v<E, Of> || ...);
// Whose what() anybody may override.
template <class E>
constexpr bool is_standard_error =
    is_one_of<E, std::logic_error, std::domain_error, std::invalid_argument, std::length_error, std::out_of_range,
              std::runtime_error, std::range_error, std::overflow_error, std::underflow_error, std::system_error,
              std::bad_alloc, Defect>;

}  // namespace detail

template <class E>
Cause Cause::of(E&& error) {
  using Error = std::remove_cvref_t<E>;
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
    static_cast<void>(detail::check_error<Error>());
    constexpr bool cannot_be_kept = detail::cannot_be_kept<E>;
    if constexpr (std::is_class_v<Error> && (!std::is_final_v<Error> || cannot_be_kept)) {
      if (cannot_be_kept || detail::may_be_sliced<std::is_lvalue_reference_v<E>>(error)) {
        if (detail::is_being_handled(error)) return current();
        cause.keep_base(std::forward<E>(error));
        return cause;
      }
    }
    if constexpr (!cannot_be_kept) cause.keep(std::forward<E>(error));
    if constexpr (std::is_base_of_v<Defect, Error>) cause.kind_ = CauseKind::defect;
  }
  return cause;
}

template <class E>
void Cause::keep_base(E&& error) {
  using Error = std::remove_cvref_t<E>;
  if constexpr (std::is_base_of_v<Defect, Error>) kind_ = CauseKind::defect;
#if PLANB_HAS_RTTI
  if constexpr (std::is_polymorphic_v<Error>) {
    if constexpr (!std::is_base_of_v<Defect, Error>) {
      if (const auto* const defect = dynamic_cast<const Defect*>(std::addressof(error))) {
        kind_ = CauseKind::defect;
        return keep_copy(*defect);
      }
    }
    if constexpr (!std::is_base_of_v<ProviderError, Error>) {
      if (const auto* const provider = dynamic_cast<const ProviderError*>(std::addressof(error))) {
        return keep_copy(*provider);
      }
    }
  }
#endif
  if constexpr (std::is_same_v<Error, std::exception> || detail::cannot_be_kept<E>) {
    // A copy of that base would say nothing, or there is none.
    keep_text(detail::read_or(std::string(detail::no_text), [&] { return detail::read_message(error); }));
  } else if constexpr (detail::is_standard_error<Error>) {
    std::string text = detail::what_text(error.what());
    Error copy(error);
    if (detail::what_text(copy.what()) == text) return keep(std::move(copy));
    keep(detail::SlicedError<Error>(copy, std::move(text)));
  } else {
    keep(std::forward<E>(error));
  }
}

template <class E>
void Cause::keep(E&& error) {
  if constexpr (std::is_array_v<std::remove_reference_t<E>>) {
    return keep(detail::own_text(error));
  } else {
    keep_object(std::forward<E>(error));
  }
}

template <class E>
void Cause::keep_object(E&& error) {
  using Given = std::remove_cvref_t<E>;
  using Object = std::conditional_t<detail::is_borrowed_text<Given>, detail::BorrowedText<Given>, Given>;
  static_assert(std::is_move_constructible_v<Object>, "planb: an error must be movable to be kept in a Cause");
  if constexpr (fits<Object>) {
    ::new (static_cast<void*>(room_)) Object(std::forward<E>(error));
    held_ = Held::inside;
  } else {
    ::new (static_cast<void*>(room_))
        detail::SharedErrorPtr(detail::SharedErrorPtr::make<Object>(std::forward<E>(error)));
    held_ = Held::shared;
  }
  ops_ = &detail::error_ops<Object>;
}

template <class E>
const E* Cause::find() const {
  const auto in_returned = [](const detail::ErrorOps& ops, const void* error) -> const void* {
    return detail::find_base<E>(ops, error);
  };
#if PLANB_HAS_EXCEPTIONS
  const auto in_thrown = [](const detail::Thrown& thrown) -> const void* { return detail::find_thrown<E>(thrown); };
  return static_cast<const E*>(find_by(detail::type_id<E>(), in_returned, in_thrown));
#else
  return static_cast<const E*>(find_by(detail::type_id<E>(), in_returned, nullptr));
#endif
}

template <class T>
T Cause::read(unsigned what, T (*detail::ErrorOps::*reader)(const void* error),
              T (*of_provider)(const ProviderError& error)) const {
  T found{};
  if (const void* const error = object(); error != nullptr && ops_->*reader != nullptr) {
    found = detail::read_or(T(), [&] { return (ops_->*reader)(error); });
  }
  if (named_ != 0 && found == T()) found = read_named(what, reader);
  if (of_provider == nullptr || found != T()) return found;
  const ProviderError* const error = provider_error();
  return error != nullptr ? detail::read_or(T(), [&] { return of_provider(*error); }) : found;
}

template <class T>
PLANB_COLD T Cause::read_named(unsigned what, T (*detail::ErrorOps::*reader)(const void* error)) const {
  T found{};
  detail::CauseAccess::any_named(*this, what, [&](const detail::ErrorOps& type, const void* base) {
    found = detail::read_or(T(), [&] { return (type.*reader)(base); });
    return found != T();
  });
  return found;
}

namespace detail {

// A cause in one line: its status, where its message does not start with it, and its message.
[[nodiscard]] std::string describe(const Cause& cause);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/cause.hpp>  // IWYU pragma: export
#endif
