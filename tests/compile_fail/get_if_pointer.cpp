// expect-first: planb: an error of pointer type cannot be looked up in a Cause
#include <planb/error/cause.hpp>

struct LlmError {};

#ifdef TWIN
bool is_llm(const planb::Cause& cause) { return cause.get_if<LlmError>() != nullptr; }
#else
bool is_llm(const planb::Cause& cause) { return cause.get_if<LlmError*>() != nullptr; }
#endif
