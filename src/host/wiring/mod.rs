//! What joins the parts: what one part hands out is given to the others and to the supervisor.

mod observer;
mod terminals;
