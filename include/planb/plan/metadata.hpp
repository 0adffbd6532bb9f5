// SPDX-License-Identifier: MIT
// CurrentMetadata: which attempt is running on this thread.
#pragma once

#include <planb/detail/config.hpp>

namespace planb::inline PLANB_ABI {

// The place of an attempt in its run: `attempt` counts from 1 across all steps, `step_index` from 0.
// Outside any attempt both are 0.
struct Metadata {
  int attempt = 0;
  int step_index = 0;

  friend constexpr bool operator==(Metadata, Metadata) noexcept = default;
};

// The metadata of the attempt that runs on the calling thread. A run sets it for its factory, its callable and its
// event handlers, and restores what was there before on every way out, so nested runs shadow outer ones.
class PLANB_VISIBLE CurrentMetadata {
 public:
  // {0, 0} outside any attempt.
  [[nodiscard]] static Metadata get() noexcept { return current_; }

  // Sets the metadata of this thread until the end of the scope. To carry it to another thread: read get() here and
  // open a Scope with it there.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(Metadata metadata) noexcept : saved_(current_) { current_ = metadata; }
    ~Scope() { current_ = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Metadata saved_;
  };

 private:
  // Trivial and constant-initialised: no guard, no wrapper call, no destructor at thread exit.
  static constinit inline thread_local Metadata current_{};
};

}  // namespace planb::inline PLANB_ABI
