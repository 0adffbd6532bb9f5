// The handlers around every attempt, in one place: an attempt may throw anything.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>

#include <exception>

// PLANB_DETAIL_TRY { attempt } PLANB_DETAIL_CATCH(keep, on_unwind): hands a function that makes the cause of what was
// thrown to `keep`, without another throw. glibc's forced unwind (pthread_cancel, pthread_exit) is no exception:
// `on_unwind` runs, and it goes on.
// std::exception is caught first, since its address tells its type; Defect before it, since the handler tells it apart.
#if PLANB_HAS_EXCEPTIONS
#define PLANB_DETAIL_TRY try
#define PLANB_DETAIL_CATCH(keep, on_unwind)                                                          \
  catch (const ::planb::Defect& planb_e) {                                                           \
    keep([&] { return ::planb::detail::CauseAccess::caught(planb_e, ::planb::CauseKind::defect); }); \
  }                                                                                                  \
  catch (const ::std::exception& planb_e) {                                                          \
    keep([&] { return ::planb::detail::CauseAccess::caught(planb_e); });                             \
  }                                                                                                  \
  catch (...) {                                                                                      \
    if (::planb::detail::unwinding()) {                                                              \
      on_unwind;                                                                                     \
      throw;                                                                                         \
    }                                                                                                \
    keep([] { return ::planb::detail::CauseAccess::caught_unknown(::std::current_exception()); });   \
  }
#else
#define PLANB_DETAIL_TRY
#define PLANB_DETAIL_CATCH(keep, on_unwind)
#endif
