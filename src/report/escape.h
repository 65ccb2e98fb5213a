/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.h: text from hostile files inside a page: in HTML and in JSON that stands in a script
 * element. What is no UTF-8, controls something or turns the reading direction becomes U+FFFD.
 */
#ifndef COLLAGE_REPORT_ESCAPE_H
#define COLLAGE_REPORT_ESCAPE_H

#include "base/text.h"

/* For element contents and for attributes in quotes. most: characters, then "..."; 0: all. */
void report_put_html(struct text *out, const char *string, size_t most);
/* With its quotes. In ASCII, without any '<', '>' or '&': no end of a script can be in it. */
void report_put_json(struct text *out, const char *string);

#endif
