//! Times of a tape: `50ms`, `2s`, `1m30s`.

use std::fmt;

/// A duration in a tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapeTime {
    nanos: u64,
}

/// The longest time that Go's `time.Duration` holds, in nanoseconds: VHS refuses anything longer.
const LONGEST: u64 = i64::MAX as u64;

impl TapeTime {
    /// A duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> TapeTime {
        TapeTime { nanos: ms.saturating_mul(1_000_000) }
    }

    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.nanos / 1_000_000
    }

    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Reads numbers with units, like Go's `time.ParseDuration`: `50ms`, `.5s`, `1m30s`. `None` for anything
    /// else, and for more than 292 years.
    pub fn parse(text: &str) -> Option<TapeTime> {
        if text == "0" {
            return Some(TapeTime::default());
        }
        let mut rest = text;
        let mut nanos = 0u64;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
            let (number, behind) = rest.split_at(digits);
            let unit = behind.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(behind.len());
            let (unit, behind) = behind.split_at(unit);
            let unit = match unit {
                "ns" => 1,
                "us" | "µs" => 1000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "m" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                _ => return None,
            };
            nanos = nanos.checked_add(scaled(number, unit)?).filter(|sum| *sum <= LONGEST)?;
            rest = behind;
        }
        (!text.is_empty()).then_some(TapeTime { nanos })
    }
}

/// `number` times `unit`, rounded down to a nanosecond.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()?.checked_mul(unit)? };
    let mut fraction_nanos = 0u128;
    let mut scale = 1u128;
    for digit in fraction.bytes().take(15) {
        scale *= 10;
        fraction_nanos = fraction_nanos * 10 + u128::from(digit - b'0');
    }
    whole.checked_add(u64::try_from(fraction_nanos * u128::from(unit) / scale).ok()?)
}

impl fmt::Display for TapeTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.nanos / 1_000_000_000, self.nanos % 1_000_000_000);
        if rest == 0 {
            return write!(f, "{seconds}s");
        }
        if seconds == 0 {
            return write!(f, "{}ms", decimal(rest, 6));
        }
        write!(f, "{seconds}.{}s", format!("{rest:09}").trim_end_matches('0'))
    }
}

/// `value` divided by ten to the power of `digits`, without zeros at the end.
fn decimal(value: u64, digits: usize) -> String {
    let padded = format!("{value:0width$}", width = digits + 1);
    let (whole, fraction) = padded.split_at(padded.len() - digits);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}
