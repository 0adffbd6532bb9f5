// expect-first: planb: http_classifier<E...>: an error type here needs something to read
#include <planb/error/http_classifier.hpp>

struct CurlError {
  int result = 0;
#ifdef TWIN
  [[nodiscard]] const char* code() const { return result == 28 ? "timeout_error" : ""; }
#endif
};

const auto classify = planb::http_classifier<CurlError>(planb::ContentRefusal::abort);
