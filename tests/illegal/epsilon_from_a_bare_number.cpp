// must say: conversion from|could not convert|no matching function|is private
#include <iostream>
#include <vector>

#include "parley/privacy/gate.h"
#include "parley/privacy/sensitivity/clipped_sum.h"

using namespace parley;
using namespace parley::privacy;

Epsilon unchecked() { return 0.5; }
