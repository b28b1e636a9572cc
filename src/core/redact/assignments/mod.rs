//! Values that are assigned to a name, in whatever language: `NAME=value`, `"name": "value"`, `--name value`,
//! `<name>value</name>`, `name = Some("value")`, `define('NAME', 'value')`, `the password is value`.
//!
//! Quotes may be escaped, as JSON within JSON has them. A value ends at the quote that opened it, or, without
//! one, at white space; where it does not stand on a line of its own, at the next comma, semicolon, ampersand
//! or bracket too.

mod assignment_finder;
mod assignment_line;
mod value_end;

pub(super) use assignment_finder::find;
