// How a Cause handles an error whose type it does not know: one static table for each error type.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error_traits.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

// Where std::current_exception() refers to the thrown object itself (the Itanium C++ ABI), the address of an exception
// stays good for as long as an exception_ptr holds it. Elsewhere it copies, and no address outlives its handler.
#ifndef PLANB_STABLE_EXCEPTIONS
#if defined(_MSC_VER)
#define PLANB_STABLE_EXCEPTIONS 0
#else
#define PLANB_STABLE_EXCEPTIONS 1
#endif
#endif

namespace planb::inline PLANB_ABI::detail {

struct ErrorOps;

// A thrown error. `known` is the object as a std::exception, where it is one and its address is stable.
struct Thrown {
  std::exception_ptr pointer;
  const std::exception* known = nullptr;
  const void* named = nullptr;           // the object as the type of Cause::ops_, once that type has been found in it
  const ErrorOps* missed[3] = {};        // types that it is known not to be: asking again would cost another throw
#if !PLANB_STABLE_EXCEPTIONS
  std::shared_ptr<const void> copied = nullptr;  // keeps *named
#endif
};

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
#if PLANB_STABLE_EXCEPTIONS
  const E* found = nullptr;
  detail::if_caught_as<E>(thrown.pointer, [&](const E& e) { found = std::addressof(e); });
  return found;
#else
  return nullptr;
#endif
}
#endif

// What original style throws, and exhaustion nests, for a returned error that cannot be copied or thrown.
class PLANB_VISIBLE UncopyableError : public std::exception {
 public:
  explicit UncopyableError(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

struct ErrorOps {
  TypeId type;
  bool trivial;  // to copy and to destroy
  bool cheap_to_find;  // in a std::exception: no throw is needed
  int says;      // how much can be read: one for each of status, code, retry_after and message
  void (*copy)(const void* from, void* to);
  void (*move)(void* from, void* to) noexcept;  // and ends the life of *from
  void (*destroy)(void* error) noexcept;
  std::optional<int> (*status)(const void* error);
  std::string (*code)(const void* error);
  std::optional<Duration> (*retry_after)(const void* error);
  std::string (*message)(const void* error);
  void (*raise)(const void* error);    // throws a copy of *error
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

template <class E>
inline constexpr ErrorOps error_ops{
    type_id<E>(),
    std::is_trivially_copyable_v<E>,
    PLANB_HAS_RTTI && std::is_polymorphic_v<E> && std::is_base_of_v<std::exception, E>,
    (reads_status<E> ? 1 : 0) + (reads_code<E> ? 1 : 0) + (reads_retry_after<E> ? 1 : 0) + (reads_message<E> ? 1 : 0),
    [](const void* from, void* to) {
      if constexpr (is_held<E> && std::is_copy_constructible_v<E>) ::new (to) E(*static_cast<const E*>(from));
    },
    [](void* from, void* to) noexcept {
      if constexpr (is_held<E> && std::is_nothrow_move_constructible_v<E>) {
        ::new (to) E(std::move(*static_cast<E*>(from)));
        detail::end_life(*static_cast<E*>(from));
      }
    },
    [](void* error) noexcept {
      if constexpr (is_held<E>) detail::end_life(*static_cast<E*>(error));
    },
    [](const void* error) { return detail::read_status(*static_cast<const E*>(error)); },
    [](const void* error) { return detail::read_code(*static_cast<const E*>(error)); },
    [](const void* error) { return detail::read_retry_after(*static_cast<const E*>(error)); },
    [](const void* error) { return detail::read_message(*static_cast<const E*>(error)); },
    []([[maybe_unused]] const void* error) {
#if PLANB_HAS_EXCEPTIONS
      // The runtime does not align what is thrown beyond the usual.
      if constexpr (is_held<E> && std::is_copy_constructible_v<E> && alignof(E) <= alignof(std::max_align_t)) {
        throw E(*static_cast<const E*>(error));
      } else {
        throw UncopyableError(detail::read_message(*static_cast<const E*>(error)));
      }
#endif
    },
    []([[maybe_unused]] Thrown& thrown) -> const void* {
#if PLANB_HAS_EXCEPTIONS && PLANB_STABLE_EXCEPTIONS
      if constexpr (std::is_pointer_v<E>) {
        return nullptr;  // a handler gets a copy of a thrown pointer: there is no address to keep
      } else {
        return detail::find_thrown<E>(thrown);
      }
#elif PLANB_HAS_EXCEPTIONS
      if constexpr (is_held<E> && std::is_copy_constructible_v<E>) {
        if (detail::if_caught_as<E>(thrown.pointer,
                                    [&](const E& e) { thrown.copied = std::make_shared<const E>(e); })) {
          return thrown.copied.get();
        }
      }
      return nullptr;
#else
      return nullptr;
#endif
    }};

}  // namespace planb::inline PLANB_ABI::detail
