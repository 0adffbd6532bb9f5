// A second translation unit with every header in it: whatever is not inline is defined twice, and does not link.
#include "everything.hpp"
