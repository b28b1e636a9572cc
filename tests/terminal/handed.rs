//! The hand-over of a terminal to the host (CONTRACT C12), in its corners and with hostile frames.
