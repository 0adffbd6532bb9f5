// expect-first: planb: name the error type without const or reference
#include <planb/error/cause.hpp>

#ifdef TWIN
bool is_int(const planb::Cause& cause) { return cause.get_if<int>() != nullptr; }
#else
bool is_int(const planb::Cause& cause) { return cause.get_if<const int>() != nullptr; }
#endif
