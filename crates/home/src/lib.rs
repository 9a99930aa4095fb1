//! Home Assistant: what of the home Hob sees and switches, and what it is told of.
//!
//! Never: an entity seen or switched that the config does not list, a target that is not named one by one, or the token sent
//! anywhere but to the server that it is for.
//! Start at [`tools`]; under them lie [`home`] (what is exposed, and how it stands), [`classes`] (what may be done with what, and how
//! grave that is), [`client`] and [`socket`] (the two ways to ask).

pub mod classes;
pub mod client;
pub mod entity;
pub mod error;
pub mod exposure;
pub mod home;
mod registry;
pub mod socket;
pub mod tools;
pub mod watch;
