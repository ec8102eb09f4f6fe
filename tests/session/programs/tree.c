/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O0 -fno-omit-frame-pointer */
/* Insert in a tree, built with frame pointers, for speed, for size (shared code saves registers), or with call hooks */
/* build: -O3 */
/* build: -Os -msave-restore */
/* build: -O2 -finstrument-functions */
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct node { struct node *left, *right; int key; };
static struct node *insert(struct node *n, int key)
{
	if (!n) { n = calloc(1, sizeof(*n)); n->key = key; return n; }
	if (key < n->key) n->left = insert(n->left, key); else n->right = insert(n->right, key);
	return n;
}
static int depth(const struct node *n) { int l, r; if (!n) return 0; l = depth(n->left); r = depth(n->right); return 1 + (l > r ? l : r); }
static void drop(struct node *n) { if (!n) return; drop(n->left); drop(n->right); free(n); }
int main(void) { struct node *n = NULL; for (int i = 0; i < 200; i++) n = insert(n, i * 7919 % 1000); leaf(depth(n)); drop(n); return 0; }
