//! Polling, for facts that nothing reports.

use std::thread;
use std::time::{Duration, Instant};

use super::error::VerbError;

/// Calls `look` every `every`, at least once, and returns what it finds; `None` when it has found nothing by
/// `until`.
///
/// # Errors
/// The first error of `look`.
pub(super) fn poll_until<T>(
    until: Instant,
    every: Duration,
    mut look: impl FnMut() -> Result<Option<T>, VerbError>,
) -> Result<Option<T>, VerbError> {
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        thread::sleep(every);
    }
}

/// Whether `holds` becomes true by `until`.
pub(super) fn becomes_true(until: Instant, every: Duration, mut holds: impl FnMut() -> bool) -> bool {
    poll_until(until, every, || Ok(holds().then_some(()))).is_ok_and(|held| held.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::exit_codes::FAILED;
    use super::*;

    const NOTHING: Duration = Duration::ZERO;

    #[test]
    fn polling_looks_at_least_once_and_until_the_limit() {
        let past = Instant::now();
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        };
        assert_eq!(poll_until(past, NOTHING, &mut look).ok(), Some(None));
        assert_eq!(poll_until(past + Duration::from_secs(60), NOTHING, &mut look).ok(), Some(Some(3)));
        assert!(!becomes_true(past, NOTHING, || false) && becomes_true(past, NOTHING, || true));
    }

    #[test]
    fn an_error_ends_the_wait() {
        let far = Instant::now() + Duration::from_secs(60);
        assert!(poll_until::<()>(far, NOTHING, || Err(VerbError::new(FAILED, "gone"))).is_err());
    }
}
