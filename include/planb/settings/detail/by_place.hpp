// SPDX-License-Identifier: MIT
// Faults in the order in which a reader of the file meets them.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/settings/fault.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// By place; those of one place as they were found. (std::stable_sort asks for a buffer in a deprecated way.)
[[nodiscard]] inline SettingsFaults by_place(SettingsFaults faults) {
  std::vector<std::size_t> order(faults.list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Place& at_a = faults.list[a].place;
    const Place& at_b = faults.list[b].place;
    return std::tie(at_a.line, at_a.column, a) < std::tie(at_b.line, at_b.column, b);
  });
  SettingsFaults result;
  for (const std::size_t i : order) result.list.push_back(std::move(faults.list[i]));
  return result;
}

}  // namespace planb::inline PLANB_ABI::detail
