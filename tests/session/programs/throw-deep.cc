/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* C++ exceptions with a catch in a loop that never returns, in recursion, and in a destructor. */
#include <string>
#include <vector>
#include <stdexcept>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct guard { int n; ~guard() { try { if (n & 1) throw n; } catch (int m) { leaf(m); } } };
NOINLINE static int parse(int n) { guard g{n}; std::string s(n, 'x'); if (!n) throw std::out_of_range(s); return parse(n - 1) + 1; }
NOINLINE static int nested(int n) { try { return n ? nested(n - 1) : parse(3); } catch (const std::out_of_range &) { if (n & 1) throw; leaf(n); return n; } }
int main() { int r = 0; for (int i = 0; i < 6; i++) { try { r += nested(i); } catch (...) { leaf(r); } } return 0; }
