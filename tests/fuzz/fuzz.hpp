// What the fuzz targets share: bytes read as numbers and texts, and a check that ends the program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fuzz {

// Ends the program, so that the fuzzer keeps the input.
inline void check(bool holds, const char* rule, std::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%.*s\n", rule, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

// An input, read from the front; beyond its end everything is zero, so that any input is a whole case.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  [[nodiscard]] bool empty() const { return left_ == 0; }

  int byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  // 0 to most.
  int upto(int most) { return byte() % (most + 1); }
  bool flag() { return byte() % 2 != 0; }
  // True for `of` in 256 bytes, the largest, so that a short input has none of it.
  bool rarely(int of = 32) { return byte() >= 256 - of; }

  std::int64_t number() {
    std::uint64_t value = 0;
    for (unsigned i = 0; i != 8; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return static_cast<std::int64_t>(value);
  }

  // Up to a line's end, or the end.
  std::string line() {
    const std::string_view all = rest();
    const std::size_t end = (std::min)(all.find('\n'), all.size());
    left_ -= (std::min)(end + 1, left_);
    at_ += (std::min)(end + 1, all.size());
    return std::string(all.substr(0, end));
  }
  [[nodiscard]] std::string_view rest() const { return {reinterpret_cast<const char*>(at_), left_}; }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
