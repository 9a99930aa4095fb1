//! The machine as scripts: an event in, every effect out; whatever is not listed must not come.

pub(crate) mod agents;
mod approvals;
mod budget;
mod declared;
mod disclosed;
mod drafts;
mod elicited;
mod ends;
mod fingerprint;
mod guards;
mod human;
mod ladder;
mod late;
pub(crate) mod laws;
mod limits;
mod listed;
mod looked;
mod meeting;
mod notebook;
mod pause;
mod pictures;
mod plan;
mod quota;
mod reading;
mod replay;
mod reply;
mod resume;
mod retries;
mod steering;
mod taint;
mod texts;
mod tools;
mod truth;
mod undo;
pub(crate) mod world;

pub(crate) use crate::machine::testkit::*;
