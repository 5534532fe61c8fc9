// SPDX-License-Identifier: GPL-2.0-only
/* Owns which of bin/mutate's changes of the driver is made: number RKNPU_MUTANT. */
#include <stdlib.h>

/* More than the driver has places. */
unsigned char rknpu_reached[1 << 16];
unsigned int rknpu_mutant;

__attribute__((constructor)) static void choose_mutant(void)
{
	const char *number = getenv("RKNPU_MUTANT");

	rknpu_mutant = number ? strtoul(number, NULL, 0) : 0;
}
