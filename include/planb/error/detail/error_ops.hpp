// SPDX-License-Identifier: MIT
// How a Cause handles an error whose type it does not know: one static table for each error type.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/provider_error.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#if !PLANB_STABLE_EXCEPTIONS
#include <mutex>
#endif
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace planb::inline PLANB_ABI {
class Cause;
}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

struct ErrorOps;

#if PLANB_HAS_RTTI
using TypeId = const std::type_info*;
template <class E>
[[nodiscard]] constexpr TypeId type_id() noexcept {
  return &typeid(E);
}
[[nodiscard]] inline bool same_type(TypeId a, TypeId b) noexcept { return a == b || *a == *b; }
#else
using TypeId = const void*;
template <class E>
struct PLANB_VISIBLE TypeTag {
  static constexpr char tag = 0;
};
template <class E>
[[nodiscard]] constexpr TypeId type_id() noexcept {
  return &TypeTag<E>::tag;
}
[[nodiscard]] constexpr bool same_type(TypeId a, TypeId b) noexcept { return a == b; }
#endif

// An exception that carries the cause of a run that failed: PlanError.
class PLANB_VISIBLE CauseCarrier : public std::exception {
 public:
  // The last failure, or null.
  [[nodiscard]] virtual const Cause* carried() const noexcept = 0;
};

// What an error wraps, if anything.
struct Wrapped {
  const CauseCarrier* carrier = nullptr;
  const std::nested_exception* nesting = nullptr;
};

#if PLANB_HAS_EXCEPTIONS && !PLANB_STABLE_EXCEPTIONS
// A thrown error as each type that was asked for, copied: here no address outlives its handler. A base is copied without
// what derives from it.
class ThrownCopies {
 public:
  // Null: no memory.
  [[nodiscard]] static std::shared_ptr<ThrownCopies> make() noexcept;

  // The error as an E, kept as a Kept; or null, also where it cannot be copied. The first time costs a throw.
  template <class E, class Kept = E>
  [[nodiscard]] const E* find(const std::exception_ptr& pointer);

 private:
  struct Copy {
    TypeId type;
    std::shared_ptr<const void> object;  // null: the error is no such type
    std::unique_ptr<Copy> next;
  };

  std::mutex mutex_;
  std::unique_ptr<Copy> first_;
};
#endif

// A thrown error. `known` is the object as a std::exception, where it is one and its address is stable.
struct Thrown {
  enum class Wraps : unsigned char { unknown, nothing, something };

  std::exception_ptr pointer;
  const std::exception* known = nullptr;
  const void* named = nullptr;  // the object as the type of Cause::ops_, once that type has been found in it
  TypeId type = nullptr;        // of the object, where it is not `known` and the runtime has told
#if PLANB_HAS_EXCEPTIONS && !PLANB_STABLE_EXCEPTIONS
  std::shared_ptr<ThrownCopies> copies = ThrownCopies::make();
#endif
  std::uint32_t missed = 0;  // a bit for each named type that it is known not to be: asking again would cost a throw
  bool exact = false;        // what is `named` is the whole object, and no base of it
  Wraps wraps = Wraps::unknown;

  // The object's own type, or null where that is not known.
  [[nodiscard]] TypeId object_type() const noexcept {
#if PLANB_HAS_RTTI
    if (known != nullptr) return &typeid(*known);
#endif
    return type;
  }
};

#if PLANB_HAS_EXCEPTIONS
// Within a `catch (...)`: whether it is no exception, but the thread that goes away (glibc's forced unwind).
[[nodiscard]] PLANB_COLD_DECL bool unwinding() noexcept;
#endif

#if PLANB_HAS_EXCEPTIONS
// Asks the runtime whether a handler for E would catch the exception. The one way for types that do not derive from
// std::exception; costs a throw.
template <class E, class Use>
bool if_caught_as(const std::exception_ptr& pointer, Use use) {
  try {
    std::rethrow_exception(pointer);
  } catch (const E& e) {
    use(e);
    return true;
  } catch (...) {
    return false;
  }
}

// The thrown object as an E, or null.
template <class E>
[[nodiscard]] const E* find_thrown(const Thrown& thrown);
#endif

// What original style throws, and exhaustion nests, for a returned error that cannot be copied or thrown.
class PLANB_VISIBLE UncopyableError : public std::exception {
 public:
  explicit UncopyableError(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override;

 private:
  std::string text_;
};

#if PLANB_HAS_EXCEPTIONS && !PLANB_STABLE_EXCEPTIONS
// An exception of another type, as std::exception alone.
class PLANB_VISIBLE ExceptionText : public UncopyableError {
 public:
  explicit ExceptionText(const std::exception& e);
};
#endif

// What a text only points to: the characters of a pointer, a std::basic_string_view, a std::span or the like; else void.
template <class T>
struct borrowed_character {
  using type = void;
};
template <class C>
  requires is_one_of_characters<std::remove_const_t<C>>
struct borrowed_character<C*> {
  using type = std::remove_const_t<C>;
};
// What owns its characters and gives them to change, does not give those of a const one to change.
template <class T>
concept GivesCharacters = std::is_class_v<T> && requires(T& text, const T& same) {
  requires is_one_of_characters<std::remove_cvref_t<decltype(*text.data())>>;
  requires std::is_same_v<decltype(text.data()), decltype(same.data())>;
  requires std::is_pointer_v<decltype(text.data())>;
  { same.size() } -> std::convertible_to<std::size_t>;
};
template <GivesCharacters T>
  requires(std::ranges::enable_view<T> || std::ranges::enable_borrowed_range<T> ||
           (std::is_trivially_copyable_v<T> && sizeof(T) == 2 * sizeof(void*) && alignof(T) == alignof(void*)))
struct borrowed_character<T> {
  using type = std::remove_cvref_t<decltype(*std::declval<T&>().data())>;
};

template <class T>
constexpr bool is_borrowed_text = !std::is_void_v<typename borrowed_character<T>::type>;

// The string that is kept in its place: what is no text to others keeps its characters.
template <class C>
using OwnedCharacters = std::basic_string<std::conditional_t<std::is_same_v<C, char8_t>, char, C>>;
template <class T>
using OwnedText = OwnedCharacters<typename borrowed_character<T>::type>;

// As what a Cause owns a T.
template <class T>
struct kept_as {
  using type = T;
};
template <class T>
  requires is_borrowed_text<T>
struct kept_as<T> {
  using type = OwnedText<T>;
};

// A null pointer is an empty text.
template <class C>
[[nodiscard]] OwnedCharacters<C> own_characters(const C* text, std::size_t size) {
  OwnedCharacters<C> owned;
  owned.reserve(size);
  for (std::size_t i = 0; i != size; ++i) owned.push_back(static_cast<typename OwnedCharacters<C>::value_type>(text[i]));
  return owned;
}
template <class T>
[[nodiscard]] auto own_text(const T& text) {
  if constexpr (std::is_array_v<T>) {  // ends at a zero or at its end
    std::size_t size = 0;
    while (size != std::extent_v<T> && text[size] != 0) ++size;
    return detail::own_characters(text, size);
  } else if constexpr (is_text<T>) {
    return detail::to_text(text);
  } else if constexpr (std::is_pointer_v<T>) {
    std::size_t size = 0;
    while (text != nullptr && text[size] != 0) ++size;
    return detail::own_characters(static_cast<std::add_pointer_t<const std::remove_pointer_t<T>>>(text), size);
  } else {
    return detail::own_characters(std::as_const(text).data(), static_cast<std::size_t>(text.size()));
  }
}

// The text of an error that is one, kept in place of what only points to it. The type that a plan may ask for is the
// string, and `original` what the callable gave.
template <class T>
struct BorrowedText : OwnedText<T> {
  explicit BorrowedText(const T& text) : OwnedText<T>(detail::own_text(text)), original(text) {}

  T original;
};

// The same of a thrown one.
template <>
struct BorrowedText<std::exception_ptr> : std::string {
  BorrowedText(std::string&& text, std::exception_ptr exception) noexcept
      : std::string(std::move(text)), original(std::move(exception)) {}

  std::exception_ptr original;
};

// What can be read from a type.
struct Reads {
  static constexpr unsigned status = 1;
  static constexpr unsigned code = 2;
  static constexpr unsigned retry_after = 4;
  static constexpr unsigned message = 8;
  static constexpr unsigned retryable = 16;
  static constexpr unsigned system_code = 32;
  static constexpr unsigned all = 63;
};

struct ErrorOps {
  TypeId type;   // that may be asked for
  TypeId given;  // that the callable returned, or null
  std::size_t size;
  bool is_class;
  bool is_polymorphic;
  bool trivial;        // to copy and to destroy
  bool cheap_to_find;  // in a std::exception: no throw is needed
  bool has_traits;  // error_traits say more than what a derived type inherits
  unsigned reads;   // of `Reads`
  int says;         // how much can be read: one for each of status, code, retry_after, message and retryable
  void (*copy)(const void* from, void* to);
  void (*move)(void* from, void* to) noexcept;  // and ends the life of *from
  void (*destroy)(void* error) noexcept;
  std::optional<int> (*status)(const void* error);
  std::string (*code)(const void* error);
  std::optional<Duration> (*retry_after)(const void* error);
  std::string (*message)(const void* error);
  std::optional<bool> (*retryable)(const void* error);  // or null, as the next four
  Wrapped (*wrapped)(const void* error);
  bool (*says_errc)(const void* error, std::errc what);
  const std::exception* (*as_exception)(const void* error);
  const ProviderError* (*as_provider_error)(const void* error);  // of what derives from it
  void (*throw_address)(const void* error);  // as a const E*, which a handler for a base's address catches
  // An error that is an `ops.type` and no more, as an E that it derives from; null where E is no class.
  const void* (*find_base)(const ErrorOps& ops, const void* error);
  void (*raise)(const void* error);     // throws a copy of *error
  const void* (*find)(Thrown& thrown);  // the thrown object as an E, or null
};

// An abstract class, or one that only its own kind may destroy, is found in a thrown object but never held.
template <class E>
constexpr bool is_held = std::is_destructible_v<E> && std::is_move_constructible_v<E>;

// The object is an E and nothing derived from it: the qualified call says so to compilers that warn of a destructor
// which is not virtual.
template <class E>
void end_life([[maybe_unused]] E& error) noexcept {
  if constexpr (std::is_class_v<E> || std::is_union_v<E>) error.E::~E();
}

// Calls `use` with the std::error_code or std::error_condition that an error is, or has as its `code`.
template <class E, class Use>
void with_system_code([[maybe_unused]] const E& e, Use use) {
  const auto call = [&](const auto& code) {
    using Code = std::remove_cvref_t<decltype(code)>;
    if constexpr (std::is_error_code_enum_v<Code> || std::is_convertible_v<const Code&, std::error_code>) {
      use(std::error_code(code));
    } else {
      use(std::error_condition(code));
    }
  };
  if constexpr (is_system_code<E>) {
    call(e);
  } else if constexpr (reads_system_code<E>) {
    detail::with_value(detail::raw_code(e), call);
  }
}

#ifdef _WIN32
// What a number of Windows' sockets means: not every system category translates it.
[[nodiscard]] constexpr std::errc errc_of_socket(int number) noexcept {
  switch (number) {
    case 10035: return std::errc::operation_would_block;
    case 10050: return std::errc::network_down;
    case 10051: return std::errc::network_unreachable;
    case 10052: return std::errc::network_reset;
    case 10053: return std::errc::connection_aborted;
    case 10054: return std::errc::connection_reset;
    case 10057: return std::errc::not_connected;
    case 10060: return std::errc::timed_out;
    case 10061: return std::errc::connection_refused;
    case 10064:  // that the host is down
    case 10065: return std::errc::host_unreachable;
    default: return std::errc();
  }
}
#endif

// Whether that code means `what`, in any category; std::errc() is no code, or one that is zero.
template <class E>
[[nodiscard]] bool says_errc(const E& e, std::errc what) {
  bool says = what == std::errc();
  detail::with_system_code(e, [&](const auto& code) {
    if (what == std::errc()) {
      says = code.value() == 0;
      return;
    }
    says = code == std::make_error_condition(what);
#ifdef EHOSTDOWN  // which has no place in every system category
    if (static_cast<int>(what) == EHOSTDOWN) says = says || code == std::error_code(EHOSTDOWN, std::system_category());
#endif
#ifdef _WIN32
    if constexpr (std::is_same_v<decltype(code), const std::error_code&>) {
      says = says || (code.category() == std::system_category() && detail::errc_of_socket(code.value()) == what);
    }
#endif
  });
  return says;
}

template <class E, class Base>
constexpr bool converts_to = std::is_class_v<E>&& std::is_convertible_v<const E*, const Base*>;

template <class B>
[[nodiscard]] const B* find_base(const ErrorOps& ops, const void* error);

// The readers and the rest for errors that are an E, held as an `Object`.
template <class E, class Object = E>
[[nodiscard]] constexpr ErrorOps make_error_ops(TypeId given) noexcept {
  ErrorOps ops{};
  ops.type = type_id<E>();
  ops.given = given;
  ops.size = sizeof(E);
  ops.is_class = std::is_class_v<E>;
  ops.is_polymorphic = std::is_polymorphic_v<E>;
  ops.trivial = std::is_trivially_copyable_v<Object>;
  ops.cheap_to_find = PLANB_HAS_RTTI && std::is_polymorphic_v<E> && std::is_base_of_v<std::exception, E>;
  ops.has_traits = has_traits<E>;
  ops.reads = (reads_status<E> ? Reads::status : 0U) | (reads_code<E> ? Reads::code : 0U) |
              (reads_retry_after<E> ? Reads::retry_after : 0U) | (reads_message<E> ? Reads::message : 0U) |
              (reads_retryable<E> ? Reads::retryable : 0U);
  ops.says = std::popcount(ops.reads);
  ops.copy = [](const void* from, void* to) {
    if constexpr (is_held<Object> && std::is_copy_constructible_v<Object>) {
      ::new (to) Object(*static_cast<const Object*>(static_cast<const E*>(from)));
    }
  };
  ops.move = [](void* from, void* to) noexcept {
    if constexpr (is_held<Object> && std::is_nothrow_move_constructible_v<Object>) {
      Object& object = *static_cast<Object*>(static_cast<E*>(from));
      ::new (to) Object(std::move(object));
      detail::end_life(object);
    }
  };
  ops.destroy = [](void* error) noexcept {
    if constexpr (is_held<Object>) detail::end_life(*static_cast<Object*>(static_cast<E*>(error)));
  };
  ops.status = [](const void* error) { return detail::read_status(*static_cast<const E*>(error)); };
  ops.code = [](const void* error) { return detail::read_code(*static_cast<const E*>(error)); };
  ops.retry_after = [](const void* error) { return detail::read_retry_after(*static_cast<const E*>(error)); };
  ops.message = [](const void* error) { return detail::read_message(*static_cast<const E*>(error)); };
  if constexpr (reads_retryable<E>) {
    ops.retryable = [](const void* error) { return detail::read_retryable(*static_cast<const E*>(error)); };
  }
  if constexpr (converts_to<E, CauseCarrier> || converts_to<E, std::nested_exception>) {
    ops.wrapped = [](const void* error) {
      Wrapped wrapped;
      if constexpr (converts_to<E, CauseCarrier>) wrapped.carrier = static_cast<const E*>(error);
      if constexpr (converts_to<E, std::nested_exception>) wrapped.nesting = static_cast<const E*>(error);
      return wrapped;
    };
  }
  if constexpr (is_system_code<E> || reads_system_code<E>) {
    ops.reads |= Reads::system_code;
    ops.says_errc = [](const void* error, std::errc what) {
      return detail::says_errc(*static_cast<const E*>(error), what);
    };
  }
  if constexpr (converts_to<E, std::exception>) {
    ops.as_exception = [](const void* error) -> const std::exception* { return static_cast<const E*>(error); };
  }
  if constexpr (converts_to<E, ProviderError> && !std::is_same_v<E, ProviderError>) {
    ops.as_provider_error = [](const void* error) -> const ProviderError* { return static_cast<const E*>(error); };
  }
#if PLANB_HAS_EXCEPTIONS
  if constexpr (std::is_class_v<E>) {
    // NOLINTNEXTLINE(misc-throw-by-value-catch-by-reference): the address is what is asked for
    ops.throw_address = [](const void* error) { throw static_cast<const E*>(error); };
  }
#endif
  if constexpr (std::is_class_v<E>) {
    ops.find_base = [](const ErrorOps& of, const void* error) -> const void* {
      return detail::find_base<E>(of, error);
    };
  }
  ops.raise = []([[maybe_unused]] const void* error) {
#if PLANB_HAS_EXCEPTIONS
    if constexpr (std::is_same_v<Object, BorrowedText<std::exception_ptr>>) {
      std::rethrow_exception(static_cast<const Object*>(static_cast<const E*>(error))->original);
    } else if constexpr (is_held<E> && std::is_copy_constructible_v<E> && alignof(E) <= alignof(std::max_align_t)) {
      // The runtime does not align what is thrown beyond the usual.
      throw E(*static_cast<const E*>(error));
    } else {
      std::string text = no_text;
      try {
        text = detail::read_message(*static_cast<const E*>(error));
      } catch (...) {
        if (detail::unwinding()) throw;
      }
      throw UncopyableError(std::move(text));
    }
#endif
  };
  ops.find = []([[maybe_unused]] Thrown& thrown) -> const void* {
#if PLANB_HAS_EXCEPTIONS
    if constexpr (std::is_pointer_v<E>) {
      return nullptr;  // a handler gets a copy of a thrown pointer: there is no address to keep
    } else {
      return detail::find_thrown<E>(thrown);
    }
#else
    return nullptr;
#endif
  };
  return ops;
}

template <class E>
inline constexpr ErrorOps error_ops = make_error_ops<E>(type_id<E>());

template <class T>
inline constexpr ErrorOps error_ops<BorrowedText<T>> = make_error_ops<OwnedText<T>, BorrowedText<T>>(type_id<T>());

template <>
inline constexpr ErrorOps error_ops<BorrowedText<std::exception_ptr>> =
    make_error_ops<std::string, BorrowedText<std::exception_ptr>>(nullptr);

// What copies of a Cause share: an error, with the number of its owners. Unlike the count of a std::shared_ptr, this
// one orders what its owners did before what the last one does.
struct SharedError {
  std::atomic<std::size_t> owners{1};
  void* object = nullptr;
  void (*end)(SharedError* self) noexcept = nullptr;
};

class SharedErrorPtr {
 public:
  template <class E, class From>
  [[nodiscard]] static SharedErrorPtr make(From&& from) {
    struct Block : SharedError {
      explicit Block(From&& f) : error(std::forward<From>(f)) {}
      E error;
    };
    auto* const block = new Block(std::forward<From>(from));
    block->object = std::addressof(block->error);
    block->end = [](SharedError* self) noexcept { delete static_cast<Block*>(self); };
    return SharedErrorPtr(block);
  }

  SharedErrorPtr(const SharedErrorPtr& other) noexcept : shared_(other.shared_) {
    shared_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedErrorPtr(SharedErrorPtr&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  SharedErrorPtr& operator=(const SharedErrorPtr&) = delete;
  ~SharedErrorPtr();

  [[nodiscard]] void* get() const noexcept { return shared_->object; }
  // Whether nobody else has it any more, and is done with it.
  [[nodiscard]] bool sole() const noexcept { return shared_->owners.load(std::memory_order_acquire) == 1; }

 private:
  explicit SharedErrorPtr(SharedError* shared) noexcept : shared_(shared) {}

  SharedError* shared_;
};

// What the runtime knows of a type, and tells only by throwing: it is asked once. Some types are kept.
struct TypeFacts {
  struct Slot {
    std::atomic<unsigned char> state{0};  // empty, being filled, filled
    const void* type = nullptr;
    std::size_t hash = 0;  // of its name: another library's type may have come to the same place
    std::ptrdiff_t offset = 0;
    bool yes = false;
  };

  Slot known[16];

  [[nodiscard]] static std::size_t hash_of([[maybe_unused]] TypeId type) noexcept;

  [[nodiscard]] const Slot* find(TypeId type) const noexcept;

  void keep(TypeId type, bool yes, std::ptrdiff_t offset = 0) noexcept;
};

// Thrown types that are no std::exception: whether they wrap another error.
inline constinit TypeFacts wrappers{};

// Whether there is a class of this type that has bases, and so may wrap an error; the Itanium C++ ABI names the kinds.
[[nodiscard]] bool has_bases([[maybe_unused]] TypeId type) noexcept;

// Where the base B is in a whole error, returned or thrown: the same for all errors of that type.
template <class B>
inline constinit TypeFacts base_offsets{};

#if PLANB_HAS_EXCEPTIONS
// The thrown object as an E, or null.
template <class E>
[[nodiscard]] const E* find_thrown(const Thrown& thrown) {
  if (const std::exception* known = thrown.known) {
    if constexpr (std::is_same_v<E, std::exception>) return known;
    if constexpr (!std::is_class_v<E>) return nullptr;
    if constexpr (std::is_final_v<E> && !std::is_base_of_v<std::exception, E>) return nullptr;
#if PLANB_HAS_RTTI
    if constexpr (std::is_polymorphic_v<E>) {
      if constexpr (requires { static_cast<const E*>(known); }) {
        if (typeid(*known) == typeid(E)) return static_cast<const E*>(known);
      }
      return dynamic_cast<const E*>(known);
    }
#endif
    // What remains: a class without virtual functions, which may be a second base of the exception.
  }
#if PLANB_HAS_RTTI
  // A handler for what is no class and no pointer takes that very type.
  if constexpr (std::is_arithmetic_v<E> || std::is_enum_v<E>) {
    if (thrown.type != nullptr && *thrown.type != typeid(E)) return nullptr;
  }
#endif
  const TypeId type = std::is_class_v<E> ? thrown.object_type() : nullptr;
  if (type != nullptr) {
    const TypeFacts::Slot* const slot = base_offsets<E>.find(type);
    if (slot != nullptr && !slot->yes) return nullptr;
  }
#if PLANB_STABLE_EXCEPTIONS
  const E* found = nullptr;
  detail::if_caught_as<E>(thrown.pointer, [&](const E& e) { found = std::addressof(e); });
  if (type != nullptr && found == nullptr) base_offsets<E>.keep(type, false);
  return found;
#else
  if (thrown.copies == nullptr) return nullptr;
  if constexpr (std::is_same_v<E, std::exception>) {
    return thrown.copies->find<E, ExceptionText>(thrown.pointer);
  } else if constexpr (is_held<E> && std::is_copy_constructible_v<E>) {
    return thrown.copies->find<E>(thrown.pointer);
  } else {
    return nullptr;
  }
#endif
}

#if !PLANB_STABLE_EXCEPTIONS
template <class E, class Kept>
const E* ThrownCopies::find(const std::exception_ptr& pointer) try {
  const auto known = [this]() -> const Copy* {
    for (const Copy* copy = first_.get(); copy != nullptr; copy = copy->next.get()) {
      if (detail::same_type(copy->type, type_id<E>())) return copy;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Copy* const copy = known()) return static_cast<const E*>(copy->object.get());
  }
  std::shared_ptr<const E> object;  // copied without the lock: it is the user's code that copies
  detail::if_caught_as<E>(pointer, [&](const E& e) { object = std::make_shared<const Kept>(e); });
  auto made = std::make_unique<Copy>(Copy{type_id<E>(), std::move(object), nullptr});
  const std::lock_guard lock(mutex_);
  if (const Copy* const copy = known()) return static_cast<const E*>(copy->object.get());
  made->next = std::move(first_);
  first_ = std::move(made);
  return static_cast<const E*>(first_->object.get());
} catch (...) {
  if (detail::unwinding()) throw;
  return nullptr;
}
#endif
#endif

// A returned error as its base B, if that is public and unambiguous, as a handler `catch (const B&)` would take it.
template <class B>
[[nodiscard]] const B* find_base([[maybe_unused]] const ErrorOps& ops, [[maybe_unused]] const void* error) {
  if constexpr (std::is_class_v<B> && !std::is_final_v<B>) {
    if (!ops.is_class || sizeof(B) > ops.size || (std::is_polymorphic_v<B> && !ops.is_polymorphic)) return nullptr;
    if constexpr (std::is_same_v<B, std::exception>) {
      return ops.as_exception != nullptr ? ops.as_exception(error) : nullptr;
    }
#if PLANB_HAS_RTTI
    if constexpr (std::is_polymorphic_v<B>) {
      if (ops.as_exception != nullptr) return dynamic_cast<const B*>(ops.as_exception(error));
    }
#endif
#if PLANB_HAS_EXCEPTIONS
    const auto* const start = static_cast<const std::byte*>(error);
    if (const TypeFacts::Slot* const slot = base_offsets<B>.find(ops.type)) {
      return slot->yes ? reinterpret_cast<const B*>(start + slot->offset) : nullptr;
    }
    const B* found = nullptr;
    try {
      ops.throw_address(error);
    } catch (const B* base) {  // NOLINT(misc-throw-by-value-catch-by-reference)
      found = base;
    } catch (...) {
      if (detail::unwinding()) throw;
    }
    const auto* const at = reinterpret_cast<const std::byte*>(found);
    base_offsets<B>.keep(ops.type, found != nullptr, found != nullptr ? at - start : 0);
    return found;
#endif
  }
  return nullptr;
}

// The types that a plan names, which outlive the plan: a Cause may do so, too.
struct NamedSet {
  std::unique_ptr<const ErrorOps*[]> types;
  std::size_t count = 0;
  unsigned reads = 0;  // what any of them reads
};

// By numbers that a Cause has room for; 0 is no set. A few in a program, which keeps them.
class NamedSets {
 public:
  // Of at least one type. 0 where there is no room left.
  [[nodiscard]] std::uint16_t number_of(const ErrorOps* const* types, std::size_t count) noexcept;

  // Those of a set, and then `types`.
  [[nodiscard]] std::uint16_t joined(std::uint16_t set, const ErrorOps* const* types, std::size_t count) noexcept;

  [[nodiscard]] const NamedSet& operator[](std::uint16_t number) const noexcept;

 private:
  [[nodiscard]] static NamedSet* make(const ErrorOps* const* types, std::size_t count) noexcept;

  static constexpr unsigned page = 64;
  static constexpr unsigned most = 1024;

  struct Page {
    std::atomic<const NamedSet*> sets[page] = {};
  };

  // Null where there is no memory for its page.
  [[nodiscard]] std::atomic<const NamedSet*>* place_for(unsigned i) noexcept;

  std::atomic<Page*> pages_[most / page] = {};
};

inline constinit NamedSets named_sets{};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/error_ops.hpp>  // IWYU pragma: export
#endif
