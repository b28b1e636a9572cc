#!/bin/bash
# The monitor of source document 001, made from its description: the newest transcript of the last hour, and how long it is.
claude=$HOME/.claude
newest=
for file in $(find "$claude/projects" -maxdepth 2 -name '*.jsonl' -type f -mmin -60 2>/dev/null | grep -v /subagents/ | xargs -r ls -t); do
    newest=$file
    break
done
[ -n "$newest" ] || exit 0
bytes=$(stat -c %s "$newest")
kb=$((bytes / 1024))
if [ "$bytes" -ge 1048576 ]; then
    shown=$(awk -v n="$bytes" 'BEGIN { printf "%.1fMB", n / 1048576 }')
else
    shown=${kb}KB
fi
early=4096 warn=6144 critical=8192
[ -e "$claude/.test-mode" ] && early=5 warn=10 critical=15
if [ $kb -ge $critical ]; then word=CRITICAL
elif [ $kb -ge $warn ]; then word=WARN
elif [ $kb -ge $early ]; then word=EARLY_WARN
else word=OK
fi
echo "$word:$shown" >"$claude/.context-status"
