#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the test programs given and prints one TAP stream with one plan.

for t; do
	echo "# begin ${t##*/}"
	"$t" 2>&1
	echo "# end $?"
done | awk '
	function result(bad, text) {
		failed += bad
		print (bad ? "not " : "") "ok " ++n " " prog ": " text
	}
	/^# begin / { prog = $3; plan = -1; count = bads = 0; next }
	/^# end / {
		if (plan != count || ($3 && !bads))
			result(1, "planned " plan ", ran " count ", exit status " $3)
		next
	}
	/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }
	/^(not )?ok [0-9]+ / {
		bad = $1 == "not"
		bads += bad
		count++
		sub(/^(not )?ok [0-9]+ /, "")
		result(bad, $0)
		next
	}
	{ print (/^#/ ? "" : "# ") $0 }
	END { print "1.." n; exit failed > 0 }'
