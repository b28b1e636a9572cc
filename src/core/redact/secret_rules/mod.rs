//! Finds the keys of services by their shape.

mod rule_table;
mod secret_rule;
#[cfg(test)]
mod secret_rule_tests;

pub(super) use secret_rule::find;
#[cfg(test)]
pub(super) use secret_rule_tests::shapes_of_keys;
