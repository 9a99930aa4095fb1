//! `query!`, `query_as!` and `query_scalar!` for the store: called as sqlx's, and checked by sqlx's at compile time. On PostgreSQL the same
//! text runs.
//!
//! Never: SQL that is made at run time. What differs between the engines in words only is in `dialect`; what differs in more is a pair
//! of texts, `["for SQLite", "for PostgreSQL"]`, in place of a text or a piece of one. Start at `expand`.

use proc_macro::TokenStream;
use syn::parse_macro_input;

mod description;
mod dialect;
mod expand;
mod input;

/// As `sqlx::query!`: rows are records with a field for each column.
#[proc_macro]
pub fn query(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as input::Input);
    expand::query(&input).into()
}

/// As `sqlx::query_as!`.
#[proc_macro]
pub fn query_as(input: TokenStream) -> TokenStream {
    let input::TypedInput { row, input } = parse_macro_input!(input as input::TypedInput);
    expand::query_as(&row, &input).into()
}

/// As `sqlx::query_scalar!`.
#[proc_macro]
pub fn query_scalar(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as input::Input);
    expand::query_scalar(&input).into()
}
