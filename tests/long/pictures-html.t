#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/pictures/html.t with ten million calls. The browser must draw the page for the first time within 5 s.
PICTURES_CALLS=10000000 PICTURES_LIMIT=5000 exec "$(dirname "$0")/../pictures/html.t"
