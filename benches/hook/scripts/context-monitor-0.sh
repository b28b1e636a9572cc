#!/bin/bash
# The monitor of source document 000, made from its description: after every tool, how long the session's transcript is.
claude=$HOME/.claude
input=$(cat)
[ -r "$claude/.current-session" ] || exit 0
IFS=: read -r session transcript <"$claude/.current-session"
[ "$(jq -r '.session_id // empty' <<<"$input")" = "$session" ] || exit 0
bytes=$(stat -c %s "$transcript") || exit 0
kb=$((bytes / 1024))
shown=$(python3 -c 'import sys; n = int(sys.argv[1]); print(f"{n / 1048576:.1f}MB" if n >= 1048576 else f"{n // 1024}KB")' "$bytes")
word=OK
[ $kb -ge 1300 ] && word=EARLY_WARN
[ $kb -ge 1500 ] && word=WARN
[ $kb -ge 1700 ] && word=CRITICAL
echo "$word:$shown" >"$claude/.context-status"
