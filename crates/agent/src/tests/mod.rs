//! What lies around the machine and is pure as well: the codec, the projection, the prompt.

mod codec;
mod projection;
mod prompt;
