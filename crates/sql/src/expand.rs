//! What a macro becomes: a `crate::sql::Query`, and beside it what sqlx makes of the text for SQLite, which is compiled, and so checked, and
//! never run.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, Type};

use crate::description::{self, Column};
use crate::input::Input;

pub(crate) fn query(input: &Input) -> TokenStream {
    let (text, arguments) = (&input.sqlite, &input.arguments);
    let record = |columns: &[Column]| {
        if columns.is_empty() {
            let reading = quote!(|_row| ::std::result::Result::Ok(()));
            return whole(&quote!(::sqlx::query!(#text #(, #arguments)*)), input, &reading);
        }
        let (names, types) = (columns.iter().map(|column| &column.name), columns.iter().map(|column| &column.of));
        let row: Type = syn::parse_quote!(Record);
        let query = typed(&row, input, columns);
        quote! {{
            #[derive(Debug)]
            struct Record { #(#names: #types,)* }
            #query
        }}
    };
    described(&quote!(::sqlx::query!(#text #(, #arguments)*)), input, record)
}

pub(crate) fn query_as(row: &Type, input: &Input) -> TokenStream {
    let (text, arguments) = (&input.sqlite, &input.arguments);
    let on_sqlite = quote!(::sqlx::query_as!(#row, #text #(, #arguments)*));
    described(&on_sqlite, input, |columns| typed(row, input, columns))
}

pub(crate) fn query_scalar(input: &Input) -> TokenStream {
    let (text, arguments) = (&input.sqlite, &input.arguments);
    let on_sqlite = quote!(::sqlx::query_scalar!(#text #(, #arguments)*));
    described(&on_sqlite, input, |columns| {
        let types = columns.iter().map(|column| &column.of);
        let read = read(input, 0);
        whole(&on_sqlite, input, &quote!(|row| #(#read::<#types>(row, 0))*))
    })
}

/// While the descriptions are written, there is none to make a record of: sqlx does all, and PostgreSQL waits for the next build.
fn described(on_sqlite: &TokenStream, input: &Input, make: impl FnOnce(&[Column]) -> TokenStream) -> TokenStream {
    let made = if description::is_being_written() {
        let (bind, read) = (quote!(|_bound| Ok(())), quote!(|_row| Err(::sqlx::Error::RowNotFound)));
        description::write(&input.sqlite, &input.postgres).map(|()| assembled(on_sqlite, ["", ""], &bind, &read))
    } else {
        description::columns(&input.sqlite).map(|columns| make(&columns))
    };
    made.unwrap_or_else(|wrong| syn::Error::new(Span::call_site(), wrong).to_compile_error())
}

/// A query whose rows are `row`s.
fn typed(row: &Type, input: &Input, columns: &[Column]) -> TokenStream {
    let (text, arguments) = (&input.sqlite, &input.arguments);
    let fields = columns.iter().enumerate().map(|(place, Column { name, of })| {
        let read = read(input, place);
        // As sqlx has it: a field may be wider than its column.
        quote!(#name: #read::<#of>(row, #place)?.into())
    });
    let reading = quote!(|row| ::std::result::Result::Ok(#row { #(#fields),* }));
    whole(&quote!(::sqlx::query_as!(#row, #text #(, #arguments)*)), input, &reading)
}

fn whole(on_sqlite: &TokenStream, input: &Input, reading: &TokenStream) -> TokenStream {
    let (sqlite, postgres) = (&input.sqlite, &input.postgres);
    match description::on_postgres(sqlite) {
        Ok(Some(known)) if known.sql != *postgres => {
            let stale = "what is known of this text on PostgreSQL is not of this text: run scripts/sqlx-prepare";
            return syn::Error::new(Span::call_site(), stale).to_compile_error();
        }
        Ok(_) => {}
        Err(wrong) => return syn::Error::new(Span::call_site(), wrong).to_compile_error(),
    }
    let arguments = input.arguments.iter().enumerate().map(|(place, argument)| {
        let bind = bind(input, place);
        quote_spanned!(syn::spanned::Spanned::span(argument)=> #bind(&(#argument)))
    });
    // Nothing in the arguments can mean this.
    let bound = Ident::new("bound", Span::mixed_site());
    let bind = quote!(|#bound| crate::sql::Arguments::bind(#bound, &[#(#arguments),*]));
    assembled(on_sqlite, [sqlite, postgres], &bind, reading)
}

fn assembled(on_sqlite: &TokenStream, texts: [&str; 2], bind: &TokenStream, read: &TokenStream) -> TokenStream {
    let [sqlite, postgres] = texts;
    let postgres = cfg!(feature = "postgres").then(|| quote!(postgres: #postgres));
    quote!(crate::sql::Query::new(|| #on_sqlite, crate::sql::Texts { sqlite: #sqlite, #postgres }, #bind, #read))
}

/// The function that reads the column at this place: of the kind that PostgreSQL says it is.
fn read(input: &Input, place: usize) -> TokenStream {
    match kind(input, |known| known.columns.as_ref()?.get(place)) {
        Some("bytea") => quote!(crate::sql::read_blob),
        Some("float4" | "float8") => quote!(crate::sql::read_real),
        Some("bool" | "int2" | "int4" | "int8" | "numeric") => quote!(crate::sql::read_integer),
        Some(_) => quote!(crate::sql::read_text),
        None => quote!(crate::sql::read),
    }
}

/// The function that binds the parameter at this place: of the kind that PostgreSQL says it is.
fn bind(input: &Input, place: usize) -> TokenStream {
    match kind(input, |known| known.parameters.as_ref()?.get(place)) {
        Some("bytea") => quote!(crate::sql::blob),
        Some("float8") => quote!(crate::sql::real),
        Some("int8") => quote!(crate::sql::integer),
        Some("text") => quote!(crate::sql::text),
        // Nobody has asked it yet.
        _ => quote!(::hob_core::domain::sql_value::ToSql::to_sql),
    }
}

fn kind<'a>(input: &Input, of: impl FnOnce(&'a description::OnPostgres) -> Option<&'a String>) -> Option<&'a str> {
    let known = description::on_postgres(&input.sqlite).ok()??;
    of(known).map(String::as_str)
}
