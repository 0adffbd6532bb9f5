// expect-first: planb: error_traits<E>::message does not fit
#include <planb/error/cause.hpp>

struct TranslatedError {
  const char* message() const { return "own"; }
};

#ifndef TWIN
template <>
struct planb::error_traits<TranslatedError> {
  static const char* message(const TranslatedError&, int) { return "own"; }
};
#endif

const planb::Cause translated = planb::Cause::of(TranslatedError());
