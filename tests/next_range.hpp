// A range of what a function gives, until it gives none: lazy, and gone through once.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

template <class Next>
class NextRange {
 public:
  using Element = typename decltype(std::declval<Next&>()())::value_type;

  struct iterator {
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Element;

    Element& operator*() const { return *range->element_; }
    iterator& operator++() {
      range->element_ = range->next_();
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] bool at_end() const { return !range->element_; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.at_end(); }

    NextRange* range;
  };

  explicit NextRange(Next next) : next_(std::move(next)) {}

  [[nodiscard]] iterator begin() {
    element_ = next_();
    return {this};
  }
  [[nodiscard]] static std::default_sentinel_t end() { return std::default_sentinel; }

 private:
  Next next_;
  std::optional<Element> element_;
};
