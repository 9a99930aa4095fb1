mod corpus;
mod cuts;
mod laws;
mod snapshots;
mod validators;
