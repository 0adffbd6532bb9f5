// SPDX-License-Identifier: MIT
// A vector whose first N elements need no allocation. Grows only at its end.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() noexcept : data_(room()) {}
  InlineVector(const InlineVector& other) : InlineVector() {
    reserve(other.size_);
    for (const T& element : other) emplace_back(element);
  }
  InlineVector(InlineVector&& other) noexcept : InlineVector() { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) *this = InlineVector(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~InlineVector() {
    std::destroy_n(data_, size_);
    deallocate();
  }

  template <class... Args>
  PLANB_INLINE T& emplace_back(Args&&... args) {
    if (size_ == capacity_) return grow(std::forward<Args>(args)...);
    return append(std::forward<Args>(args)...);
  }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* const grown = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data_, size_, grown);
    std::destroy_n(data_, size_);
    deallocate();
    data_ = grown;
    capacity_ = capacity;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T& front() noexcept { return data_[0]; }
  [[nodiscard]] const T& front() const noexcept { return data_[0]; }
  [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data_[size_ - 1]; }

 private:
  template <class... Args>
  PLANB_COLD T& grow(Args&&... args) {
    T element(std::forward<Args>(args)...);  // first: the arguments may lie in what is about to move
    reserve(2 * capacity_);
    return append(std::move(element));
  }

  template <class... Args>
  PLANB_INLINE T& append(Args&&... args) {
    T* const element = ::new (static_cast<void*>(data_ + size_)) T(std::forward<Args>(args)...);
    ++size_;
    return *element;
  }

  [[nodiscard]] T* room() noexcept { return reinterpret_cast<T*>(room_); }

  void take(InlineVector& other) noexcept {
    if (other.data_ == other.room()) {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      std::destroy_n(other.data_, other.size_);
    } else {
      data_ = std::exchange(other.data_, other.room());
      capacity_ = std::exchange(other.capacity_, N);
    }
    size_ = std::exchange(other.size_, 0);
  }

  void deallocate() noexcept {
    if (data_ != room()) std::allocator<T>().deallocate(data_, capacity_);
  }

  void release() noexcept {
    std::destroy_n(data_, size_);
    deallocate();
    data_ = room();
    size_ = 0;
    capacity_ = N;
  }

  T* data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace planb::inline PLANB_ABI::detail
