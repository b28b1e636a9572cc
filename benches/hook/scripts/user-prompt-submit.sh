#!/bin/bash
# The hook of source document 003, made from its description, on the way that it mostly goes: no flag, so nothing to say.
input=$(cat)
session=$(echo "$input" | jq -r '.session_id // empty')
[ -n "$session" ] || exit 0
[ -r "$HOME/.claude/claudikins-acm.conf" ] && . "$HOME/.claude/claudikins-acm.conf"
state=${TMPDIR:-/tmp}/acm
[ -e "$state-dismissed-$session" ] && exit 0
[ -e "$state-inprogress-$session" ] && exit 0
if [ -e "$state-snooze-$session" ]; then
    [ "$(date +%s)" -lt "$(cat "$state-snooze-$session")" ] && exit 0
    rm -f "$state-snooze-$session"
fi
[ -e "$state-threshold-$session" ] || exit 0
