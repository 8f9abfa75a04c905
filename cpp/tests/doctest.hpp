// The test framework, in one place. Tests include this, never doctest itself.
#pragma once

#include <doctest/doctest.h>
