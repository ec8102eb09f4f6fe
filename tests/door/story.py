# SPDX-License-Identifier: GPL-2.0-only
"""Compare the demo's text with the page of the demo, which contains each call.

  story.py PAGE source            check that the page has the calls of samples/requests.c, and their source
  story.py PAGE slowest TEXT      check the demo's TEXT about the slowest request
"""
import os
import re
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../pictures")]
import page  # pylint: disable=wrong-import-position

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}
PAGE = page.Page(sys.argv[1])
CALLS = list(PAGE.calls())


def named(name):
    return [call for call in CALLS if call[4] == name]


def inside(call, name):
    """Return True if a call of the function is inside the given call"""
    return any(call[0] <= c[0] and c[0] + c[1] <= call[0] + call[1] for c in named(name))


def source():
    print(len(CALLS), "calls")
    texts = [text for name, text in PAGE.data.items() if name[0] == "s" and "requests.c" in text]
    assert len(named("request")) == 100 and len(named("rehash")) == 4
    assert "static void rehash" in texts[0]


def slowest(path):
    """Return True if the slowest request contains a rehash. A different request can be the slowest if the host paused
    the board during it"""
    with open(path, encoding="utf-8") as file:
        text = file.read().split("\n3. ")[1].split("\n4. ")[0]
    call = max(named("request"), key=lambda call: call[1])
    took, unit = re.search(r"the slowest took ([0-9.]+) (us|ms|s)[:;,]", text).groups()
    rehashed = inside(call, "rehash")
    print(f"the slowest took {call[1]} ns; the demo says {took} {unit};",
          "rehash was called" if rehashed else "the host stopped the board")
    assert abs(float(took) * UNITS[unit] / call[1] - 1) < 0.01
    assert rehashed == ("it called rehash" in text)
    assert sum(inside(request, "rehash") for request in named("request")) == 4
    assert sum(inside(rehash, "handle_page_fault") for rehash in named("rehash")) >= 3


if __name__ == "__main__":
    {"source": source, "slowest": slowest}[sys.argv[2]](*sys.argv[3:])
