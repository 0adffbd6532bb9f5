// expect: planb: http_classifier<E...> names error types without const or reference
#include <planb/planb.hpp>

struct LlmError {
  int status = 0;
};

#ifdef TWIN
const planb::Classifier classify = planb::http_classifier<LlmError>(planb::Refusal::abort);
#else
const planb::Classifier classify = planb::http_classifier<const LlmError&>(planb::Refusal::abort);
#endif
