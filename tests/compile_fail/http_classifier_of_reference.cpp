// expect-first: planb: http_classifier<E...> names error types without const or reference
#include <planb/error/http_classifier.hpp>

struct LlmError {
  int status = 0;
};

#ifdef TWIN
const auto classify = planb::http_classifier<LlmError>(planb::ContentRefusal::abort);
#else
const auto classify = planb::http_classifier<const LlmError&>(planb::ContentRefusal::abort);
#endif
