/* SPDX-License-Identifier: MIT */
/*
 * Owns how structures of other versions of npu.h cross the library's interface: each begins with its
 * size, which tells what the program was compiled with.
 */
#ifndef NPU_STRUCT_H
#define NPU_STRUCT_H

#include <stddef.h>

/*
 * Size of a structure whose last field is @last. The second argument of NPU_TAKE() and NPU_FILL() is the
 * last field of the first release, and never changes: fields added later begin behind its padding.
 */
#define NPU_SIZE_TO(type, last)						\
	((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))

/*
 * Copies what a program passes to @to, which has @known bytes; NULL counts as zeros. Fields that the program's
 * structure lacks become 0. Returns -EINVAL for less than @first bytes or an absurd size, -EOPNOTSUPP where a
 * field beyond @known is not 0.
 */
int npu_take_struct(void *to, size_t known, size_t first, const void *from);
/*
 * The other way: as much of @from as the program's structure @to holds, and 0 for fields of it beyond
 * @known. Returns -EINVAL as above.
 */
int npu_fill_struct(void *to, const void *from, size_t known, size_t first);

#define NPU_TAKE(to, last, from)					\
	npu_take_struct(to, sizeof(*(to)), NPU_SIZE_TO(__typeof__(*(to)), last), from)
#define NPU_FILL(to, last, from)					\
	npu_fill_struct(to, from, sizeof(*(from)), NPU_SIZE_TO(__typeof__(*(from)), last))

#endif /* NPU_STRUCT_H */
