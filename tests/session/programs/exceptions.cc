/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* C++ exceptions that are thrown through several calls, and caught in the caller and in the same function. */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdexcept>
static volatile int sink;
struct guard { ~guard(); };
NOINLINE static void leaf(int n) { sink = n; }
guard::~guard() { leaf(1); }
NOINLINE static void throws(int n) { guard g; leaf(n); if (!n) throw std::runtime_error("x"); throws(n - 1); leaf(n); }
NOINLINE static int catches(int n) { try { throws(n); } catch (const std::exception &) { leaf(2); return 1; } return 0; }
NOINLINE static int rethrows(int n) { try { catches(n); throw n; } catch (int &) { try { throw; } catch (int m) { leaf(m); } } return n; }
int main() { for (int i = 0; i < 5; i++) rethrows(i); return 0; }
