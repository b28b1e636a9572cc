//! hopty's own settings of `Set`.

use super::own_commands::{need_choice, need_number, need_time};
use super::pattern::TapePattern;
use super::regex::TapeRegex;
use super::tape_args::{ArgResult, TapeArgs};
use super::tape_settings::{
    LONGEST_SIDE, TapeHome, TapeLeftovers, TapeNeed, TapeSettings, TapeSpeed, WaitRule,
};

/// Reads the value of a setting into `settings`.
pub(super) fn read_setting(
    name: &str,
    args: &mut TapeArgs<'_>,
    settings: &mut TapeSettings,
) -> ArgResult<()> {
    let text = |args: &mut TapeArgs<'_>| args.need_word("a value").map(|word| word.as_str().to_owned());
    let side = |args: &mut TapeArgs<'_>, what| need_number(args, what, 1, LONGEST_SIDE.into());
    match name {
        "Rows" => settings.rows = Some(side(args, "a number of rows")? as u16),
        "Columns" => settings.columns = Some(side(args, "a number of columns")? as u16),
        "Term" => settings.term = text(args)?,
        "Timezone" => settings.timezone = text(args)?,
        "Locale" => settings.locale = text(args)?,
        "Home" => {
            let known = [("fresh", TapeHome::Fresh), ("keep", TapeHome::Keep)];
            settings.home = need_choice(args, "home", &known)?;
        }
        "Deadline" => settings.deadline = Some(need_time(args, "a time")?),
        "ExpectTimeout" => settings.expect_timeout = need_time(args, "a time")?,
        "Settle" => settings.settle = need_time(args, "a time")?,
        "Speed" => {
            let known = [("real", TapeSpeed::Real), ("fast", TapeSpeed::Fast)];
            settings.speed = Some(need_choice(args, "speed", &known)?);
        }
        "Redact" => {
            let pattern = args.pattern()?;
            let instead = args.text("what is shown instead", false)?;
            let regex = match pattern {
                TapePattern::Regex(regex) => regex,
                TapePattern::Text(text) => TapeRegex::literal(text.as_str()),
            };
            settings.redactions.push((regex, instead));
        }
        "Retry" => settings.retry = Some(need_number(args, "a count", 0, 100)?),
        "Needs" => {
            let known = [("core", TapeNeed::Core), ("net", TapeNeed::Net)];
            settings.needs.push(need_choice(args, "need", &known)?);
        }
        "Leftovers" => {
            let known = [("allow", TapeLeftovers::Allow), ("fail", TapeLeftovers::Fail)];
            settings.leftovers = need_choice(args, "rule", &known)?;
        }
        _ => {
            let known = [("fresh", WaitRule::Fresh), ("level", WaitRule::Level)];
            settings.wait = need_choice(args, "rule", &known)?;
        }
    }
    Ok(())
}
