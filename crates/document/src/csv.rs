//! Tables as text: comma, semicolon or tab; quotes as RFC 4180 has them.

use crate::pages::PageCollection;
use crate::text;

/// The rows of a table.
pub(crate) fn read(text: &str) -> PageCollection {
    let between = separator(text);
    let rows = rows(text, between);
    PageCollection::split_at_lines(
        (1..).zip(rows).map(|(number, row): (usize, Vec<String>)| format!("{number}\t{}", text::row(&row))),
    )
}

/// What stands between the cells: that of which the first line has most.
fn separator(text: &str) -> char {
    let first = text.lines().next().unwrap_or_default();
    let count = |c: char| first.matches(c).count();
    [',', ';', '\t'].into_iter().rev().max_by_key(|c| count(*c)).unwrap_or(',')
}

fn rows(text: &str, between: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c if c == between && !quoted => row.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_table_as_text_is_read_by_its_own_separator() {
        let read = |text: &str| read(text).pages[0].text.clone();
        assert_eq!(read("a,b\r\n\"1,5\",\"say \"\"hi\"\"\nthere\"\r\n"), "1\ta | b\n2\t1,5 | say \"hi\" there\n");
        assert_eq!(read("a;b;c\n1,5;2;\n"), "1\ta | b | c\n2\t1,5 | 2\n");
        assert_eq!(read("a\tb\n"), "1\ta | b\n");
        assert_eq!(read(""), "");
        let long = super::read(&"row,1\n".repeat(5_000));
        assert!(long.pages.len() > 1 && long.pages[1].text.starts_with(|c: char| c.is_ascii_digit()));
    }
}
