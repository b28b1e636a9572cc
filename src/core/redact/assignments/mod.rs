//! Finds values that are assigned to a name, in any language: `NAME=value`, `"name": "value"`, `--name
//! value`, `<name>value</name>`, `name = Some("value")`, `define('NAME', 'value')`, `the password is value`.
//!
//! Quotes may be escaped, as in JSON within JSON. A quoted value ends at its closing quote, any other at
//! white space, and within other text also at a comma, semicolon, ampersand or bracket.

mod assignment_finder;
mod assignment_line;
mod value_end;

pub(super) use assignment_finder::find;
