// expect-first: planb: http_classifier<E...>: an error type here needs something to read
#include <planb/classify.hpp>

struct CurlError {
  int result = 0;
};

#ifdef TWIN
template <>
struct planb::error_traits<CurlError> {
  static const char* code(const CurlError& e) { return e.result == 28 ? "timeout_error" : ""; }
};
#endif

const auto classify = planb::http_classifier<CurlError>(planb::Refusal::abort);
