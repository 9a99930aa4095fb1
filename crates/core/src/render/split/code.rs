//! Where code is cut: at a blank line, else at a line's end, and within a line only where one is too long.

use crate::render::split::last_that;
use crate::render::split::text::within_word;

/// Cuts code of which not everything `fits`. At most `most` chars could; it is cut within a line only if it `must` be.
pub(super) fn cut<'a>(
    code: &'a str,
    most: usize,
    must: bool,
    fits: &dyn Fn(&str) -> bool,
) -> Option<(&'a str, &'a str)> {
    let end = code.char_indices().nth(most + 1).map_or(code.len(), |(at, _)| at);
    let window = code.split_at(end).0;
    let ends: Vec<usize> = window.match_indices('\n').map(|(at, _)| at).collect();
    let head = |at: usize| code.split_at(at).0;
    let fits_at = |at: usize| fits(head(at));
    let last = ends
        .len()
        .checked_sub(1)
        .and_then(|last| last_that(0, last, &|index| ends.get(index).is_some_and(|at| fits_at(*at))));
    if let Some(far) = last.and_then(|last| ends.get(last)).filter(|at| !head(**at).trim().is_empty()) {
        let near = ends.iter().filter(|at| **at <= *far && **at * 2 >= *far);
        // The end of the line before a blank one.
        let blank = near.rev().find(|at| code.split_at(**at).1.starts_with("\n\n"));
        let at = *blank.unwrap_or(far);
        let (head, rest) = code.split_at(at);
        return Some((head, rest.strip_prefix('\n').unwrap_or(rest)));
    }
    let line = window.split_at(ends.first().copied().unwrap_or(window.len())).0;
    // White that alone is too much goes.
    if must && line.trim().is_empty() {
        return Some(("", code.trim_start()));
    }
    must.then(|| within_word(line, &fits_at).map(|at| code.split_at(at)))?
}
