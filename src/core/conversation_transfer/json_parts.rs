//! The members of a JSON object and the items of an array as pieces of its text, so that one can be replaced
//! and every other byte stays.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in order; names may be repeated.
pub(super) struct JsonMembers<'a>(pub Vec<(Cow<'a, str>, &'a str)>);

pub(super) struct JsonItems<'a>(pub Vec<&'a str>);

impl<'a> JsonMembers<'a> {
    /// `None` if it is no object.
    pub fn of(text: &'a str) -> Option<Self> {
        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
    }

    /// The last member of this name, which is the one that counts.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(found, _)| found == name).map(|(_, value)| *value)
    }
}

impl<'a> JsonItems<'a> {
    /// `None` if it is no array.
    pub fn of(text: &'a str) -> Option<Self> {
        text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok())?
    }
}

/// The value of a JSON string; `None` if it is no string, or not valid Unicode.
pub(super) fn string(text: &str) -> Option<String> {
    text.starts_with('"').then(|| serde_json::from_str(text).ok())?
}

/// The range of `part`, which is a slice of `whole`.
pub(super) fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Cow<'de, str>, &'de str)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    members.push((name, value.get()));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(JsonMembers)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonItems<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Vec<&'de str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element::<&'de RawValue>()? {
                    items.push(item.get());
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Items).map(JsonItems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_are_slices_of_the_text() {
        let text = "{ \"a\\u0062\" : [1, {\"c\":\"\\ud800\"} ,\"d\"] , \"a\":1.00 }";
        let members = JsonMembers::of(text).unwrap().0;
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(names, ["ab", "a"]);
        assert_eq!(members[1].1, "1.00");
        assert_eq!(&text[range_in(text, members[1].1)], "1.00");
        let items = JsonItems::of(members[0].1).unwrap().0;
        assert_eq!(items, ["1", "{\"c\":\"\\ud800\"}", "\"d\""]);
        assert_eq!((string(items[2]).as_deref(), string(items[0])), (Some("d"), None));
        assert_eq!(string("\"\\ud800\""), None, "half of a character");
        assert!(JsonMembers::of("[]").is_none() && JsonItems::of("{}").is_none());
        assert!(JsonMembers::of("{\"a\":1").is_none() && JsonMembers::of("").is_none());
    }
}
