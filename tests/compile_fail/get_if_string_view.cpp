// expect-first: planb: a Cause keeps a text as a std::string: ask for that
#include <planb/error/cause.hpp>

inline bool is_text(const planb::Cause& cause) {
#ifdef TWIN
  return cause.get_if<std::string>() != nullptr;
#else
  return cause.get_if<std::string_view>() != nullptr;
#endif
}
