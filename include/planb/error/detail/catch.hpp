// SPDX-License-Identifier: MIT
// The handlers around every attempt, in one place: an attempt may throw anything.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>

#include <exception>

// PLANB_DETAIL_TRY { attempt } PLANB_DETAIL_CATCH(keep, on_unwind): hands a function that makes the cause of what was
// thrown to `keep`, without another throw. glibc's forced unwind (pthread_cancel, pthread_exit) is no exception:
// `on_unwind` runs, and it goes on.
// std::exception is caught first, since its address tells its type: whether it is a Defect is asked then. A handler of
// its own for that would be one more that the runtime looks at, twice, for every exception; without RTTI it must be.
#if PLANB_HAS_EXCEPTIONS
namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_RTTI
[[nodiscard]] Cause caught_exception(const std::exception& e) noexcept;
#define PLANB_DETAIL_CATCH_DEFECT(keep)
#else
[[nodiscard]] Cause caught_exception(const std::exception& e) noexcept;
#define PLANB_DETAIL_CATCH_DEFECT(keep)                                                              \
  catch (const ::planb::Defect& planb_e) {                                                           \
    keep([&] { return ::planb::detail::CauseAccess::caught(planb_e, ::planb::CauseKind::defect); }); \
  }
#endif

}  // namespace planb::inline PLANB_ABI::detail

#define PLANB_DETAIL_TRY try
#define PLANB_DETAIL_CATCH(keep, on_unwind)                                                        \
  PLANB_DETAIL_CATCH_DEFECT(keep)                                                                  \
  catch (const ::std::exception& planb_e) {                                                        \
    keep([&] { return ::planb::detail::caught_exception(planb_e); });                              \
  }                                                                                                \
  catch (...) {                                                                                    \
    if (::planb::detail::unwinding()) {                                                            \
      on_unwind;                                                                                   \
      throw;                                                                                       \
    }                                                                                              \
    keep([] { return ::planb::detail::CauseAccess::caught_unknown(::std::current_exception()); }); \
  }
#else
#define PLANB_DETAIL_TRY
#define PLANB_DETAIL_CATCH(keep, on_unwind)
#endif

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/catch.hpp>  // IWYU pragma: export
#endif
