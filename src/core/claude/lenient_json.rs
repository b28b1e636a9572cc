//! JSON values that are read without trust in their type.
//!
//! Claude's files change between releases, and a string can become an object. Each type here accepts any
//! value, keeps one of the expected type, and is empty otherwise, so that one odd field never costs the whole
//! line. Sizes are capped while reading. Nothing here knows what a field means.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::transcript_line::GAP;
use crate::core::text::safe_text::{cut_bytes, cut_words};

/// The visitor methods for the types that are skipped.
macro_rules! drop_kinds {
    ($empty:expr; $($kind:ident)*) => { $(drop_kinds!(@ $kind $empty);)* };
    (@ null $empty:expr) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($empty) } };
    (@ boolean $empty:expr) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($empty) } };
    (@ number $empty:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($empty) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($empty) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($empty) }
    };
    (@ string $empty:expr) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($empty) } };
    (@ list $empty:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_seq(list)?;
            Ok($empty)
        }
    };
    (@ map $empty:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_map(map)?;
            Ok($empty)
        }
    };
}

struct Lenient<T>(PhantomData<T>);

/// Implements reading of a type: the methods for what it takes, and its value for the `dropped` types.
macro_rules! lenient {
    ([$($generics:tt)*] $Type:ty = $empty:expr; dropped: $($kind:ident)*; $($methods:tt)*) => {
        impl<'de, $($generics)*> Visitor<'de> for Lenient<$Type> {
            type Value = $Type;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }
            $($methods)*
            drop_kinds!($empty; $($kind)*);
        }
        impl<'de, $($generics)*> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Lenient::<$Type>(PhantomData))
            }
        }
    };
}

/// Cuts a text. Prose loses the word at the cut; short fields are ids and words of Claude's own.
fn cut(text: &str, cap: usize) -> &str {
    if cap >= 256 { cut_words(text, cap) } else { cut_bytes(text, cap) }
}

/// The first `head` and the last `tail` bytes of a text, with [`GAP`] on a line of its own if something is
/// left out between them. The end begins with a line if possible, else with a word.
pub(crate) fn ends(text: &str, head: usize, tail: usize) -> String {
    if tail == 0 || text.len() <= head + tail {
        return cut(text, head + tail).to_owned();
    }
    let mut from = text.len() - tail;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let last = &text[from..];
    let near = cut_bytes(last, 1024);
    let start = near.find('\n').or_else(|| near.find(char::is_whitespace)).unwrap_or(0);
    format!("{}\n{GAP}\n{}", cut_words(text, head), last[start..].trim_start_matches(['\n', ' ']))
}

/// The first `CAP` bytes of a string, cut at a character, and its last `TAIL` bytes ([`ends`]). A number
/// becomes its digits, anything else nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text<const CAP: usize, const TAIL: usize = 0>(pub(crate) Option<String>);

lenient! {
    [const CAP: usize, const TAIL: usize] Text<CAP, TAIL> = Text(None);
    dropped: null boolean list map;
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Some(ends(text, CAP, TAIL))))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Text(Some(number.to_string())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Text(Some(number.to_string())))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Text(None))
    }
}

/// A count. A negative number becomes 0, a fraction is cut, anything else is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Option<u64>);

lenient! {
    [] Number = Number(None);
    dropped: null boolean string list map;
    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(Some(number)))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        Ok(Number(Some(u64::try_from(number).unwrap_or(0))))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        Ok(Number(Some(number as u64)))
    }
}

/// `true` only for JSON `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) bool);

lenient! {
    [] Flag = Flag(false);
    dropped: null number string list map;
    fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
        Ok(Flag(value))
    }
}

/// An object of a known shape, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Object(None)
    }
}

lenient! {
    [T: Deserialize<'de>] Object<T> = Object(None);
    dropped: null boolean number string list;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
    }
}

/// An object of a known shape, or a short string instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectOrText<T> {
    pub(crate) object: Option<T>,
    /// At most 64 bytes.
    pub(crate) text: Option<String>,
}

impl<T> Default for ObjectOrText<T> {
    fn default() -> Self {
        ObjectOrText { object: None, text: None }
    }
}

lenient! {
    [T: Deserialize<'de>] ObjectOrText<T> = ObjectOrText::default();
    dropped: null boolean number list;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let object = T::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ObjectOrText { object: Some(object), text: None })
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(ObjectOrText { object: None, text: Some(cut_bytes(text, 64).to_owned()) })
    }
}

/// A list of at most `CAP` objects; other elements are skipped. `None` if it is no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T, const CAP: usize>(pub(crate) Option<Vec<T>>);

impl<T, const CAP: usize> Default for List<T, CAP> {
    fn default() -> Self {
        List(None)
    }
}

lenient! {
    [T: Deserialize<'de>, const CAP: usize] List<T, CAP> = List(None);
    dropped: null boolean number string map;
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        objects::<T, A, CAP>(list).map(|items| List(Some(items)))
    }
}

/// A list of at most `CAP` short strings or numbers; other elements are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names<const CAP: usize>(pub(crate) Vec<String>);

lenient! {
    [const CAP: usize] Names<CAP> = Names(Vec::new());
    dropped: null boolean number string map;
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some(Text(name)) = list.next_element::<Text<64>>()? {
            names.extend(name.filter(|_| names.len() < CAP));
        }
        Ok(Names(names))
    }
}

fn objects<'de, T: Deserialize<'de>, A: SeqAccess<'de>, const CAP: usize>(
    mut list: A,
) -> Result<Vec<T>, A::Error> {
    let mut items = Vec::new();
    while items.len() < CAP {
        match list.next_element::<Object<T>>()? {
            Some(Object(Some(item))) => items.push(item),
            Some(Object(None)) => {}
            None => return Ok(items),
        }
    }
    IgnoredAny.visit_seq(list)?;
    Ok(items)
}

/// The value of `message.content` and of a tool result's `content`: a plain string, or a list of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum LooseContent<T, const CAP: usize, const TAIL: usize = 0> {
    /// Neither.
    #[default]
    Nothing,
    /// A string, cut to `CAP` bytes at its start and `TAIL` at its end.
    Plain(String),
    /// At most 10,000 blocks.
    Blocks(Vec<T>),
}

lenient! {
    [T: Deserialize<'de>, const CAP: usize, const TAIL: usize] LooseContent<T, CAP, TAIL> = LooseContent::Nothing;
    dropped: null boolean number map;
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(LooseContent::Plain(ends(text, CAP, TAIL)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        objects::<T, A, 10_000>(list).map(LooseContent::Blocks)
    }
}

/// The string members of an object, at most 64 of them, keys and values cut to 2,000 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs(pub(crate) Vec<(String, String)>);

lenient! {
    [] Pairs = Pairs(Vec::new());
    dropped: null boolean number string list;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, value)) = map.next_entry::<Text<2000>, Text<2000>>()? {
            if let (Text(Some(key)), Text(Some(value)), true) = (key, value, pairs.len() < 64) {
                pairs.push((key, value));
            }
        }
        Ok(Pairs(pairs))
    }
}

/// The members of an object that are objects with a string in `notes`, cut as in [`Pairs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes(pub(crate) Vec<(String, String)>);

lenient! {
    [] Notes = Notes(Vec::new());
    dropped: null boolean number string list;
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Notes, A::Error> {
        let mut notes = Vec::new();
        while let Some((key, Pairs(members))) = map.next_entry::<Text<2000>, Pairs>()? {
            let note = members.into_iter().find(|(name, _)| name == "notes");
            if let (Text(Some(key)), Some((_, note)), true) = (key, note, notes.len() < 64) {
                notes.push((key, note));
            }
        }
        Ok(Notes(notes))
    }
}

/// The members of an object as one line of JSON with shortened texts. Members beyond the first thousand bytes
/// are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonLine(pub(crate) String);

/// The length after which the line takes no more members, in bytes.
const LINE_CAP: usize = 1000;
/// How much of a text it contains, in bytes.
const VALUE_CAP: usize = 300;

lenient! {
    [] JsonLine = JsonLine(String::new());
    dropped: null boolean number string list;
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JsonLine, A::Error> {
        let JsonValue(line) = Lenient::<JsonValue>(PhantomData).visit_map(map)?;
        Ok(JsonLine(if line == "{}" { String::new() } else { line }))
    }
}

/// Any value as JSON, shortened.
struct JsonValue(String);

lenient! {
    [] JsonValue = JsonValue("null".to_owned());
    dropped: null;
    fn visit_bool<E>(self, value: bool) -> Result<JsonValue, E> {
        Ok(JsonValue(value.to_string()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<JsonValue, E> {
        Ok(JsonValue(number.to_string()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<JsonValue, E> {
        Ok(JsonValue(number.to_string()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<JsonValue, E> {
        Ok(JsonValue(number.to_string()))
    }
    fn visit_str<E>(self, text: &str) -> Result<JsonValue, E> {
        Ok(JsonValue(serde_json::Value::from(cut_words(text, VALUE_CAP)).to_string()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonValue, A::Error> {
        let mut line = String::new();
        while line.len() < LINE_CAP {
            let Some(JsonValue(item)) = list.next_element()? else { break };
            line.push_str(if line.is_empty() { "" } else { ", " });
            line.push_str(&item);
        }
        IgnoredAny.visit_seq(list)?;
        Ok(JsonValue(format!("[{line}]")))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonValue, A::Error> {
        let mut line = String::new();
        while line.len() < LINE_CAP {
            let Some((key, JsonValue(value))) = map.next_entry::<Text<64>, JsonValue>()? else { break };
            line.push_str(if line.is_empty() { "" } else { ", " });
            line.push_str(&format!("{}: {value}", serde_json::Value::from(key.0.unwrap_or_default())));
        }
        IgnoredAny.visit_map(map)?;
        Ok(JsonValue(format!("{{{line}}}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_takes_every_kind_of_value() {
        for json in ["null", "true", "-3", "7", "1.5", "\"x\"", "[1,{\"a\":2}]", "{\"a\":{\"b\":[]}}"] {
            serde_json::from_str::<Text<8>>(json).unwrap();
            serde_json::from_str::<Number>(json).unwrap();
            serde_json::from_str::<Flag>(json).unwrap();
            serde_json::from_str::<Object<IgnoredAny>>(json).unwrap();
            serde_json::from_str::<List<IgnoredAny, 4>>(json).unwrap();
            serde_json::from_str::<LooseContent<IgnoredAny, 4>>(json).unwrap();
            serde_json::from_str::<Pairs>(json).unwrap();
            serde_json::from_str::<Notes>(json).unwrap();
            serde_json::from_str::<JsonLine>(json).unwrap();
        }
    }

    #[test]
    fn sizes_are_capped() {
        assert_eq!(serde_json::from_str::<Text<4>>("\"ab\u{e9}\u{e9}\"").unwrap().0.unwrap(), "ab\u{e9}");
        let both =
            |text: &str| serde_json::from_str::<Text<300, 20>>(&format!("{text:?}")).unwrap().0.unwrap();
        let text = format!("{}\nlast words\n5 passed", "word ".repeat(100));
        assert_eq!(both(&text), format!("{}\n{GAP}\nlast words\n5 passed", "word ".repeat(60)));
        assert_eq!(both(&text[..320]), text[..320], "nothing is left out");
        let huge = both(&"\u{e9}".repeat(5000));
        assert!(huge.len() <= 300 + 20 + GAP.len() + 2 && huge.ends_with('\u{e9}'));
        let line = |json: &str| serde_json::from_str::<JsonLine>(json).unwrap().0;
        assert_eq!(
            line("{\"to\":[\"a\",1],\"on\":{\"x\":null,\"y\":true}}"),
            "{\"to\": [\"a\", 1], \"on\": {\"x\": null, \"y\": true}}"
        );
        let wide = format!("{{\"a\":[{}0],\"b\":{text:?}}}", "7,".repeat(5000));
        assert!(line(&wide).len() < 2 * LINE_CAP);
        assert_eq!(line("{}"), "");
        let many = serde_json::from_str::<List<Pairs, 2>>("[{},{},{},{}]").unwrap();
        assert_eq!(many.0.unwrap().len(), 2);
    }
}
