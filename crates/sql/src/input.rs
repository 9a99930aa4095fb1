//! What a macro is given.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, LitStr, Token, Type, bracketed};

/// A text and its arguments.
pub(crate) struct Input {
    pub(crate) sqlite: String,
    pub(crate) postgres: String,
    pub(crate) arguments: Vec<Expr>,
}

/// As [`Input`], after the type that a row becomes.
pub(crate) struct TypedInput {
    pub(crate) row: Type,
    pub(crate) input: Input,
}

/// A piece of a text: for both engines, or `["for SQLite", "for PostgreSQL"]`.
struct Piece {
    sqlite: LitStr,
    postgres: Option<LitStr>,
}

impl Parse for Piece {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            return Ok(Self { sqlite: input.parse()?, postgres: None });
        }
        let pair;
        bracketed!(pair in input);
        let sqlite = pair.parse()?;
        pair.parse::<Token![,]>()?;
        let postgres = Some(pair.parse()?);
        pair.parse::<Option<Token![,]>>()?;
        Ok(Self { sqlite, postgres })
    }
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let pieces = Punctuated::<Piece, Token![+]>::parse_separated_nonempty(input)?;
        let mut arguments = Vec::new();
        if input.parse::<Option<Token![,]>>()?.is_some() {
            arguments.extend(Punctuated::<Expr, Token![,]>::parse_terminated(input)?);
        }
        let sqlite = pieces.iter().map(|piece| piece.sqlite.value()).collect();
        let postgres = pieces.iter().map(|piece| piece.postgres.as_ref().unwrap_or(&piece.sqlite).value());
        Ok(Self { sqlite, postgres: crate::dialect::postgres(&postgres.collect::<String>()), arguments })
    }
}

impl Parse for TypedInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let row = input.parse()?;
        input.parse::<Token![,]>()?;
        Ok(Self { row, input: input.parse()? })
    }
}
