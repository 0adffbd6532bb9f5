// SPDX-License-Identifier: MIT
// What committing() holds back, of a pushed stream and of a pulled one: elements in order, until they are given or
// dropped.
#pragma once

#include <planb/detail/config.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// Of Elements, or of what derives from it.
template <class Element>
class HeldBack {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == elements_.size(); }
  [[nodiscard]] Element& front() noexcept { return *elements_[first_]; }

  void keep(std::unique_ptr<Element> element) { elements_.push_back(std::move(element)); }
  void drop_front() noexcept {
    elements_[first_++].reset();
    if (empty()) clear();
  }
  void clear() noexcept {
    elements_.clear();
    first_ = 0;
  }
  // All of them, which are not here any more.
  [[nodiscard]] HeldBack take() noexcept {
    HeldBack taken;
    std::swap(taken.elements_, elements_);
    std::swap(taken.first_, first_);
    return taken;
  }

 private:
  std::vector<std::unique_ptr<Element>> elements_;
  std::size_t first_ = 0;
};

}  // namespace planb::inline PLANB_ABI::detail
