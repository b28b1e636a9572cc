//! hopty's own settings of `Set`.

use super::own_commands::{need_choice, need_number, need_time};
use super::pattern::TapePattern;
use super::regex::TapeRegex;
use super::tape_args::{ArgResult, TapeArgs};
use super::tape_settings::{
    LONGEST_SIDE, TapeHome, TapeLeftovers, TapeNeed, TapeSetting, TapeSpeed, WaitRule,
};

pub(super) fn read_setting(name: &str, args: &mut TapeArgs<'_>) -> ArgResult<TapeSetting> {
    use TapeSetting as S;
    let text = |args: &mut TapeArgs<'_>| args.need_word("a value").map(|word| word.as_str().to_owned());
    Ok(match name {
        "Rows" => S::Rows(need_number(args, "a number of rows", 1, LONGEST_SIDE.into())? as u16),
        "Columns" => S::Columns(need_number(args, "a number of columns", 1, LONGEST_SIDE.into())? as u16),
        "Term" => S::Term(text(args)?),
        "Timezone" => S::Timezone(text(args)?),
        "Locale" => S::Locale(text(args)?),
        "Home" => {
            S::Home(need_choice(args, "home", &[("fresh", TapeHome::Fresh), ("keep", TapeHome::Keep)])?)
        }
        "Deadline" => S::Deadline(need_time(args, "a time")?),
        "ExpectTimeout" => S::ExpectTimeout(need_time(args, "a time")?),
        "Settle" => S::Settle(need_time(args, "a time")?),
        "Speed" => {
            S::Speed(need_choice(args, "speed", &[("real", TapeSpeed::Real), ("fast", TapeSpeed::Fast)])?)
        }
        "Redact" => redact(args)?,
        "Retry" => S::Retry(need_number(args, "a count", 0, 100)?),
        "Needs" => S::Needs(need_choice(args, "need", &[("core", TapeNeed::Core), ("net", TapeNeed::Net)])?),
        "Leftovers" => {
            let known = [("allow", TapeLeftovers::Allow), ("fail", TapeLeftovers::Fail)];
            S::Leftovers(need_choice(args, "rule", &known)?)
        }
        _ => S::Wait(need_choice(args, "rule", &[("fresh", WaitRule::Fresh), ("level", WaitRule::Level)])?),
    })
}

fn redact(args: &mut TapeArgs<'_>) -> ArgResult<TapeSetting> {
    let pattern = args.pattern()?;
    let instead = args.text("what is shown instead", false)?;
    match pattern {
        TapePattern::Regex(regex) => Ok(TapeSetting::Redact(regex, instead)),
        TapePattern::Text(text) => Ok(TapeSetting::Redact(TapeRegex::literal(text.as_str()), instead)),
    }
}
