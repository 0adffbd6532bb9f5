// SPDX-License-Identifier: MIT
// Held, HeldIf: an object whose life begins and ends by hand, in room that is there before and after.
#pragma once

#include <planb/detail/config.hpp>

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Room for a T, without a record of whether there is one: whoever builds it there destroys it. For a T& it holds where
// that is.
template <class T>
class Held {
  using Stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>;

 public:
  Held() noexcept {}   // NOLINT(modernize-use-equals-default)
  ~Held() noexcept {}  // NOLINT(modernize-use-equals-default)
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // Of what `make()` gives, in place.
  template <class Make>
  void build(Make&& make) {
    if constexpr (std::is_reference_v<T>) {
      T reference = make();
      stored_ = std::addressof(reference);
    } else {
      ::new (static_cast<void*>(std::addressof(stored_))) Stored(make());
    }
  }

  void destroy() noexcept {
    if constexpr (!std::is_reference_v<T>) stored_.~Stored();
  }

  [[nodiscard]] std::remove_reference_t<T>& get() noexcept {
    if constexpr (std::is_reference_v<T>) {
      return *stored_;
    } else {
      return stored_;
    }
  }
  [[nodiscard]] const T& get() const noexcept requires std::is_object_v<T> { return stored_; }

 private:
  union {
    Stored stored_;
  };
};

// The same with that record, which ends what is there.
template <class T>
class HeldIf {
 public:
  HeldIf() noexcept = default;
  HeldIf(const HeldIf&) = delete;
  HeldIf& operator=(const HeldIf&) = delete;
  ~HeldIf() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return full_; }
  [[nodiscard]] std::remove_reference_t<T>& get() noexcept { return room_.get(); }

  // Where it is empty.
  template <class Make>
  void build(Make&& make) {
    room_.build(std::forward<Make>(make));
    full_ = true;
  }
  // The same by somebody else, who says whether it was built.
  [[nodiscard]] Held<T>& room() noexcept { return room_; }
  bool filled(bool built) noexcept { return full_ = built; }

  void reset() noexcept {
    if (std::exchange(full_, false)) room_.destroy();
  }

 private:
  Held<T> room_;
  bool full_ = false;
};

}  // namespace planb::inline PLANB_ABI::detail
