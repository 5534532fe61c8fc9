/* SPDX-License-Identifier: MIT */
/* Owns what tools do to text of others before they print it; not installed. */
#ifndef NPU_PLAIN_H
#define NPU_PLAIN_H

/* A terminal takes control characters for commands, and JSON ends a string at a quotation mark. */
static inline char *npu_plain(char *text)
{
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			*p = '?';
	return text;
}

#endif /* NPU_PLAIN_H */
