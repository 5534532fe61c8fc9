# SPDX-License-Identifier: GPL-2.0-only
# Reads the sources of test programs; prints a line "NAME [WORD]... [OPTION]... -- PROGRAM..." for each boot, or complains.
# What a program says of its boots: Documentation/accel/rknpu/add-a-test.rst

function wrong(what) { print FILENAME ":" FNR ": " what >"/dev/stderr"; status = 1 }

FNR == 1 {
	program = FILENAME
	sub(/.*\//, "", program)
	sub(/\.c$/, "", program)
}

/^( \*|#) boot: / && $3 != "none" {
	name = $3
	if (name !~ /^[a-z][a-z0-9-]*$/)
		wrong("\"" name "\" is no name of a boot")
	if ((name, program) in runs)
		wrong("boot " name " is there twice")
	runs[name, program] = 1
	if (!(name in programs))
		order[++n] = name
	if (NF == 3) {
		programs[name] = programs[name] " " program
		next
	}
	if (name in words)
		wrong("boot " name " has words in " where[name] ", too")
	where[name] = FILENAME ":" FNR
	sub(/.* boot: +[^ ]+ +/, "")
	words[name] = $0
	programs[name] = " " program programs[name]
}

END {
	for (i = 1; i <= n; i++) {
		name = order[i]
		if (!(name in words)) {
			print "boot " name " of" programs[name] " has no words: none of them says what it is" >"/dev/stderr"
			status = 1
		}
		print name " " words[name] " --" programs[name]
	}
	exit status
}
