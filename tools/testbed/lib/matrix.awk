# SPDX-License-Identifier: GPL-2.0-only
# Counts results of `check --kernel` per kernel, shape of the device tree and user interface. Reads first a line per
# kernel (series, release, "simple" if it has no driver for the SoC), then the results; and the boots from the file "boots".

function interface(prog, group) {
	if (prog ~ /^rknpu_vendor_misc/)
		return "/dev/rknpu"
	if (prog ~ /^rknpu_(vendor|matmul_vendor)/)
		return group ~ /misc$/ ? "/dev/rknpu" : "rknpu"
	return "rocket"
}

BEGIN {
	while ((getline line < boots) > 0) {
		if (line !~ /^[a-z]/)
			continue
		split(line, word, " ")
		shape[word[1]] = line ~ /--dt vendor/ ? "vendor" : "mainline"
		sub(/.* -- /, "", line)
		split(line, first, " ")
		main[word[1]] = first[1]
	}
	OFS = "\t"
}

FNR == NR {
	order[++kernels] = $1
	release[$1] = $2
	simple[$1] = $3
	next
}

{
	at = index($2, ": ")
	split(substr($2, 1, at - 1), part, "@")
	group = part[1]
	prog = substr($2, at + 2)
	sub(/:.*/, "", prog)
	# A guest that died or a kernel log that is not clean is its main program's.
	if (prog !~ /^rknpu_/)
		prog = main[group]
	cell = part[2] SUBSEP shape[group] SUBSEP interface(prog, group)
	count[cell, $1]++
	seen[cell] = 1
}

END {
	shapes = split("mainline vendor", s, " ")
	apis = split("rocket rknpu /dev/rknpu", a, " ")
	for (i = 1; i <= kernels; i++)
		for (j = 1; j <= shapes; j++)
			for (l = 1; l <= apis; l++) {
				cell = order[i] SUBSEP s[j] SUBSEP a[l]
				if (!(cell in seen))
					continue
				dt = simple[order[i]] == "" ? s[j] : s[j] == "vendor" ? "vendor-simple" : "simple"
				print release[order[i]], dt, a[l], count[cell, "pass"] + 0, count[cell, "fail"] + 0, \
					count[cell, "skip"] + 0
			}
}
