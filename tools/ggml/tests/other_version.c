// SPDX-License-Identifier: MIT
/* A ggml of another series, as far as a backend sees: preloaded before the real one. */
const char *ggml_version(void);

const char *ggml_version(void)
{
	return "0.26.9";
}
