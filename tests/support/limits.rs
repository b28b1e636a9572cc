//! Usage limits of a subscription, as the API reports them.

use std::time::{SystemTime, UNIX_EPOCH};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::claude::Kind;
use super::world::World;

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The API's refusal of a subscription that is used up.
pub fn used_up(claim: &str, resets: u64) -> ScriptedReply {
    let window = if claim == "five_hour" { "5h" } else { "7d" };
    let of_window = |what: &str| format!("anthropic-ratelimit-unified-{window}-{what}");
    ScriptedReply::error(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
    )
    .with_header("anthropic-ratelimit-unified-status", "rejected")
    .with_header("anthropic-ratelimit-unified-reset", resets.to_string())
    .with_header("anthropic-ratelimit-unified-representative-claim", claim)
    .with_header(of_window("status"), "rejected")
    .with_header(of_window("reset"), resets.to_string())
    .with_header(of_window("utilization"), "1.0")
    .with_header("anthropic-ratelimit-unified-overage-status", "rejected")
    .with_header("anthropic-ratelimit-unified-overage-disabled-reason", "org_level_disabled")
    .with_header("retry-after", resets.saturating_sub(now()).to_string())
}

/// An answer within a limit that resets then: the API says so with every answer to a subscription.
pub fn nearly_used_up(reply: ScriptedReply, claim: &str, resets: u64) -> ScriptedReply {
    let window = if claim == "five_hour" { "5h" } else { "7d" };
    let of_window = |what: &str| format!("anthropic-ratelimit-unified-{window}-{what}");
    reply
        .with_header("anthropic-ratelimit-unified-status", "allowed")
        .with_header("anthropic-ratelimit-unified-reset", resets.to_string())
        .with_header("anthropic-ratelimit-unified-representative-claim", claim)
        .with_header(of_window("status"), "allowed")
        .with_header(of_window("reset"), resets.to_string())
        .with_header(of_window("utilization"), "0.97")
}

/// A world with a subscription in place of a key; the token is nobody's.
pub fn subscribed(kind: Kind, script: Script) -> Option<World> {
    let mut world = World::new(kind, script)?;
    world.env.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    world.set("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-test-0123456789-abcdefghijklmnopqrst");
    Some(world)
}

/// A step of a task, which takes until the status line has told how much of the limit is used: it comes up to
/// 0.3 s later.
pub fn step(kind: Kind, claim: &str, resets: u64) -> ScriptedReply {
    let hopty = env!("CARGO_BIN_EXE_hopty");
    let told = format!(
        "for n in $(seq 100); do {hopty} status proj --json | grep -q '\"percent\": *97' && break; sleep \
         0.1; done"
    );
    let reply = match kind {
        Kind::Real => ScriptedReply::bash(told),
        // It has no status line.
        Kind::StandIn => ScriptedReply::bash("echo one"),
    };
    nearly_used_up(reply, claim, resets)
}

/// A person's setting that has Claude ask instead of going on by itself.
pub fn without_continuation(world: &World) {
    let settings = world.claude_dir().join("settings.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
    text["autoContinueAtUsageLimit"] = false.into();
    std::fs::write(&settings, text.to_string()).unwrap();
}
