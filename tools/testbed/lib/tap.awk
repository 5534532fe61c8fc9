# SPDX-License-Identifier: GPL-2.0-only
# Reads TAP of one or more programs between "# testbed:" marks; prints pass, fail or skip and a name per test.
# "status" is how the guest ended that they ran in.

function result(what, name) { printf "%s\t%s: %s\n", what, group, name }

# One line for each failure, whatever follows from it.
function finish(rc, ran) {
	if (prog == "")
		return
	ran = ", ran " count " of " (plan < 0 ? "unknown" : plan)
	if (rc == "")
		result("fail", prog ": did not end" ran)
	else if (rc == 124 || rc == 137)
		result("fail", prog ": stopped after its time limit" ran)
	else if (plan != count)
		result("fail", prog ": exit status " rc ran)
	else if (rc != 0 && rc != 4 && !(rc == 1 && failed))
		result("fail", prog ": exit status " rc)
	prog = ""
}

{ sub(/\r$/, "") }

/^# testbed: expect / { expected[++nexpected] = $4; next }

/^# testbed: start / {
	finish("")
	prog = $4
	started[prog] = 1
	plan = -1
	count = failed = 0
	next
}

/^# testbed: end / { finish($5 + 0); next }

prog != "" && /^1\.\.[0-9]+/ {
	# Several programs behind one mark have a plan each.
	planned = substr($1, 4) + 0
	plan = (plan < 0 ? 0 : plan) + planned
	if (planned == 0)
		result("skip", prog ": all")
	next
}

prog != "" && /^(not )?ok [0-9]/ {
	count++
	bad = ($1 == "not")
	name = $0
	sub(/^(not )?ok [0-9]+ *(- *)?/, "", name)
	note = toupper(name)
	sub(/ *# *(SKIP|XFAIL|TODO).*/, "", name)
	if (note ~ /# *(SKIP|XFAIL|TODO)/)
		result("skip", prog ": " name)
	else if (bad) {
		failed = 1
		result("fail", prog ": " name)
	} else
		result("pass", prog ": " name)
}

END {
	for (i = 1; i <= nexpected; i++)
		if (!(expected[i] in started))
			missing = missing " " expected[i]
	if (status) {
		result("fail", "guest ended with status " status (prog == "" ? "" : " during " prog) \
			(missing == "" ? "" : "; not run:" missing))
	} else {
		finish("")
		if (missing != "")
			result("fail", "not run:" missing)
	}
}
