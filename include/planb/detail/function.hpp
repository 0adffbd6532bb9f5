// SPDX-License-Identifier: MIT
// A copyable callable with room for a few captures, called through const. Cheaper to include than <functional>.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class Signature>
class Function;

// Like std::function, but: the target is called as a const lvalue; four pointers of captures are held without
// allocation; a moved-from Function is empty. Calling an empty one is undefined.
template <class R, class... Args>
class Function<R(Args...)> {
 public:
  Function() noexcept = default;

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Function>)
  explicit Function(F&& f) {
    using Target = std::decay_t<F>;
    if constexpr (fits<Target>) {
      ::new (static_cast<void*>(room_)) Target(std::forward<F>(f));
    } else {
      ::new (static_cast<void*>(room_)) (Target*)(new Target(std::forward<F>(f)));
    }
    call_ = &call<Target>;
    ops_ = &ops<Target>;
  }

  Function(const Function& other) {
    if (other.call_ == nullptr) return;
    other.ops_->copy(other.room_, room_);
    call_ = other.call_;
    ops_ = other.ops_;
  }

  Function(Function&& other) noexcept { take(other); }

  Function& operator=(const Function& other) {
    if (this != std::addressof(other)) *this = Function(other);
    return *this;
  }

  Function& operator=(Function&& other) noexcept {
    if (this != std::addressof(other)) {
      reset();
      take(other);
    }
    return *this;
  }

  ~Function() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }

  R operator()(Args... args) const { return call_(room_, std::forward<Args>(args)...); }

 private:
  static constexpr std::size_t room = 4 * sizeof(void*);

  struct Ops {
    void (*copy)(const void* from, void* to);
    void (*move)(void* from, void* to) noexcept;  // and ends the life of *from
    void (*destroy)(void* target) noexcept;
  };

  template <class T>
  static constexpr bool fits = sizeof(T) <= room && alignof(T) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<T>;

  template <class T>
  static const T& target(const void* at) noexcept {
    if constexpr (fits<T>) {
      return *std::launder(static_cast<const T*>(at));
    } else {
      return **std::launder(static_cast<T* const*>(at));
    }
  }

  template <class T>
  static R call(const void* at, Args... args) {
    if constexpr (std::is_void_v<R>) {
      static_cast<void>(target<T>(at)(std::forward<Args>(args)...));
    } else {
      return target<T>(at)(std::forward<Args>(args)...);
    }
  }

  template <class T>
  static constexpr Ops ops{
      [](const void* from, void* to) {
        if constexpr (fits<T>) {
          ::new (to) T(target<T>(from));
        } else {
          ::new (to) (T*)(new T(target<T>(from)));
        }
      },
      [](void* from, void* to) noexcept {
        if constexpr (fits<T>) {
          T* const source = std::launder(static_cast<T*>(from));
          ::new (to) T(std::move(*source));
          source->~T();
        } else {
          ::new (to) (T*)(*std::launder(static_cast<T**>(from)));
        }
      },
      [](void* at) noexcept {
        if constexpr (fits<T>) {
          std::launder(static_cast<T*>(at))->~T();
        } else {
          delete *std::launder(static_cast<T**>(at));
        }
      }};

  void take(Function& other) noexcept {
    if (other.call_ == nullptr) return;
    other.ops_->move(other.room_, room_);
    call_ = std::exchange(other.call_, nullptr);
    ops_ = std::exchange(other.ops_, nullptr);
  }

  void reset() noexcept {
    if (call_ == nullptr) return;
    ops_->destroy(room_);
    call_ = nullptr;
    ops_ = nullptr;
  }

  R (*call_)(const void*, Args...) = nullptr;
  const Ops* ops_ = nullptr;
  alignas(std::max_align_t) std::byte room_[room];
};

}  // namespace planb::inline PLANB_ABI::detail
