# SPDX-License-Identifier: GPL-2.0-only
# For `make html`, by Sphinx; the documents can be read as they are, too.
project = 'N-Trace for Linux'
root_doc = 'index'
html_theme = 'alabaster'
html_theme_options = {'nosidebar': False, 'page_width': '1100px'}
html_show_copyright = False
