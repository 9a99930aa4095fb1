mod corpus;
mod laws;
mod validators;
