//! The numbers of a control sequence: parameters with subparameters, as in `CSI 38:2::1:2:3;1 m`.
//!
//! `vte`'s own type cannot be filled by others. This one is filled from it, and by `control_sequence.rs`,
//! which reads the usual sequences without `vte`.

/// The most numbers in a sequence, as in `vte`. A longer sequence is ignored.
pub const NUMBERS_MAX: usize = 32;

/// The numbers, in order. An absent one is 0.
#[derive(Clone, Debug, Default)]
pub struct Params {
    numbers: [u16; NUMBERS_MAX],
    /// Bit n: number n follows a colon, so it belongs to the parameter of the number before it.
    joined: u32,
    len: usize,
}

impl Params {
    #[inline]
    pub fn clear(&mut self) {
        self.joined = 0;
        self.len = 0;
    }

    /// Adds a number that starts a parameter (`joined` = 0) or belongs to the previous one (1). Ignored if
    /// there are too many.
    #[inline]
    pub fn push(&mut self, number: u16, joined: u32) {
        if let Some(place) = self.numbers.get_mut(self.len) {
            *place = number;
            self.joined |= joined << self.len;
            self.len += 1;
        }
    }

    /// How many numbers there are.
    #[inline]
    pub fn numbers(&self) -> usize {
        self.len
    }

    /// The first number of parameter `at`, from 0; 0 if absent.
    #[inline]
    pub fn value(&self, at: usize) -> u16 {
        if self.joined == 0 {
            return self.numbers.get(..self.len).and_then(|numbers| numbers.get(at)).copied().unwrap_or(0);
        }
        self.iter().nth(at).and_then(|param| param.first()).copied().unwrap_or(0)
    }

    /// Parameter `at` as a count: absent and 0 mean 1.
    #[inline]
    pub fn count(&self, at: usize) -> usize {
        usize::from(self.value(at)).max(1)
    }

    /// Parameter `at` as a 0-based position.
    #[inline]
    pub fn position(&self, at: usize) -> usize {
        self.count(at) - 1
    }

    /// How many parameters there are; a sequence without numbers has one, because the parser adds an absent
    /// one.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// The first number of each parameter.
    pub fn values(&self) -> impl Iterator<Item = u16> {
        self.iter().filter_map(|param| param.first().copied())
    }

    /// The parameters, each with its subparameters.
    #[inline]
    pub fn iter(&self) -> ParamsIter<'_> {
        ParamsIter { params: self, at: 0 }
    }
}

impl Params {
    /// The parameters after the first `count`.
    pub fn behind(&self, count: usize) -> ParamsIter<'_> {
        let mut iter = self.iter();
        iter.by_ref().take(count).for_each(drop);
        iter
    }
}

impl From<&vte::Params> for Params {
    fn from(params: &vte::Params) -> Self {
        let mut read = Self::default();
        for param in params {
            for (at, number) in param.iter().enumerate() {
                read.push(*number, u32::from(at > 0));
            }
        }
        read
    }
}

/// The parameters from the left.
pub struct ParamsIter<'a> {
    params: &'a Params,
    at: usize,
}

impl<'a> Iterator for ParamsIter<'a> {
    type Item = &'a [u16];

    #[inline]
    fn next(&mut self) -> Option<&'a [u16]> {
        if self.at >= self.params.len {
            return None;
        }
        let behind = self.params.joined.checked_shr(self.at as u32 + 1).unwrap_or(0).trailing_ones() as usize;
        let from = self.at;
        self.at += 1 + behind;
        self.params.numbers.get(from..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(numbers: &[(u16, u32)]) -> Params {
        let mut params = Params::default();
        numbers.iter().for_each(|(number, joined)| params.push(*number, *joined));
        params
    }

    #[test]
    fn subparameters_stay_with_their_parameter() {
        let params = params(&[(38, 0), (2, 1), (0, 1), (7, 0), (4, 0), (3, 1)]);
        let all: Vec<_> = params.iter().collect();
        assert_eq!(all, [&[38, 2, 0][..], &[7], &[4, 3]]);
        assert_eq!((params.value(1), params.value(2), params.value(3), params.len()), (7, 4, 0, 3));
        assert_eq!(params.values().collect::<Vec<_>>(), [38, 7, 4]);
    }

    #[test]
    fn absent_and_zero_count_as_one() {
        let params = params(&[(0, 0), (5, 0)]);
        assert_eq!((params.count(0), params.count(1), params.count(2)), (1, 5, 1));
        assert_eq!((params.position(0), params.position(1)), (0, 4));
    }

    #[test]
    fn no_more_than_there_are_places() {
        let params = params(&[(1, 1); NUMBERS_MAX + 9]);
        assert_eq!((params.numbers(), params.len()), (NUMBERS_MAX, 1));
        assert_eq!(params.value(NUMBERS_MAX), 0);
    }
}
