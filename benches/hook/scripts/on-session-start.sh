#!/bin/bash
# The hook of source document 004, made from its description, on the way that it mostly goes: no backup waits.
input=$(cat)
dir=$(printf '%s' "$input" | jq -r '.cwd // empty')
marker=${dir:-$PWD}/.claude/memory/.pending-backup
[ -s "$marker" ] || exit 0
backup=$(head -n 1 "$marker")
if [ -f "$backup" ]; then
    echo "SESSION_BACKUP_PENDING: A previous session backup exists at $backup"
    echo "User should run /resume-latest to restore context, or /discard-backup to discard."
else
    rm -f "$marker"
fi
exit 0
