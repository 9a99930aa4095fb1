//! SQLite's SQL as PostgreSQL takes it: what differs in words only.
//!
//! Never: a change of meaning. What the engines do differently is a pair of texts at its call, or a function of
//! `migrations/postgres/0001_schema.sql`.

/// The text for PostgreSQL.
pub(crate) fn postgres(sql: &str) -> String {
    let mut tokens: Vec<String> = tokens(sql).into_iter().map(str::to_owned).collect();
    drop_hints(&mut tokens);
    name_subqueries(&mut tokens);
    words(&tokens)
}

/// Words, blanks, quoted texts, comments, and single characters.
fn tokens(sql: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let end = |beyond: &dyn Fn(char) -> bool| rest.find(|letter| !beyond(letter)).unwrap_or(rest.len());
        let length = match first {
            // A quotation mark within is doubled: that makes two texts with nothing between them, which comes to the same.
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            _ if is_word(first) => end(&is_word),
            _ if first.is_whitespace() => end(&char::is_whitespace),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn is_blank(token: &str) -> bool {
    token.trim().is_empty() || token.starts_with("--")
}

/// The places of what is no blank, from `at` on.
fn telling(tokens: &[String], at: usize) -> impl Iterator<Item = usize> {
    (at..tokens.len()).filter(|&at| !is_blank(&tokens[at]))
}

/// The place of the bracket that closes the one at `open`.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" if depth == 1 => return at,
            ")" => depth -= 1,
            _ => {}
        }
    }
    tokens.len() - 1
}

/// Which index is used and which table comes first is for PostgreSQL's planner to say.
fn drop_hints(tokens: &mut [String]) {
    for at in 0..tokens.len() {
        match tokens[at].as_str() {
            "INDEXED" => telling(tokens, at).take(3).collect::<Vec<_>>().into_iter().for_each(|at| tokens[at].clear()),
            "CROSS" if is_conditional(tokens, at) => tokens[at].clear(),
            _ => {}
        }
    }
}

/// Whether the `CROSS JOIN` at this place has an `ON`.
fn is_conditional(tokens: &[String], cross: usize) -> bool {
    let mut after = telling(tokens, cross).skip(2);
    while let Some(at) = after.next() {
        match tokens[at].as_str() {
            "ON" => return true,
            "JOIN" | "CROSS" | "LEFT" | "WHERE" | "ORDER" | "GROUP" | "LIMIT" | "UNION" | "," | ")" => return false,
            "(" => {
                let end = closing(tokens, at);
                after.find(|&at| at == end);
            }
            _ => {}
        }
    }
    false
}

/// What may stand behind a subquery that has no name.
const NO_NAMES: [&str; 12] = ["", ",", ")", "WHERE", "ORDER", "GROUP", "UNION", "LIMIT", "ON", "JOIN", "CROSS", "LEFT"];

/// Up to version 15, each subquery of a `FROM` has a name.
fn name_subqueries(tokens: &mut [String]) {
    let mut nameless = Vec::new();
    for at in 0..tokens.len() {
        let next: Vec<usize> = telling(tokens, at).skip(1).take(2).collect();
        let [open, select] = next[..] else { break };
        let is_subquery =
            matches!(tokens[at].as_str(), "FROM" | "JOIN") && tokens[open] == "(" && tokens[select] == "SELECT";
        if !is_subquery {
            continue;
        }
        let end = closing(tokens, open);
        let after = telling(tokens, end + 1).next().map_or("", |at| tokens[at].as_str());
        if NO_NAMES.contains(&after) {
            nameless.push(end);
        }
    }
    for (number, end) in nameless.into_iter().enumerate() {
        tokens[end] = format!(") AS unnamed_{}", number + 1);
    }
}

/// The functions and types that have other names.
fn words(tokens: &[String]) -> String {
    let mut sql = String::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at].as_str();
        let is_call = tokens.get(at + 1).is_some_and(|next| next == "(");
        match token {
            // The name is taken, by a function of objects.
            "json_each" if is_call => sql.push_str("json_elements"),
            "json_array" if is_call => sql.push_str("json_build_array"),
            // Of nothing it is a list, too.
            "json_group_array" if is_call => {
                let end = aggregate_end(tokens, at + 1);
                sql.extend(["coalesce(json_agg", &words(&tokens[at + 1..=end]), ", '[]')"]);
                at = end;
            }
            "group_concat" if is_call => {
                let end = closing(tokens, at + 1);
                let arguments = &tokens[at + 2..end];
                let (all, separated) = (words(arguments), is_list(arguments));
                let (before, after) = if separated { ("string_agg(", ")") } else { ("string_agg((", ")::text, ',')") };
                sql.extend([before, &all, after]);
                at = end;
            }
            "LIKE" => sql.push_str("ILIKE"),
            "INTEGER" => sql.push_str("BIGINT"),
            "REAL" => sql.push_str("DOUBLE PRECISION"),
            "BLOB" => sql.push_str("BYTEA"),
            _ => sql.push_str(token),
        }
        at += 1;
    }
    sql
}

/// Where an aggregate ends whose arguments begin at `open`: with its `FILTER (…)`, if it has one.
fn aggregate_end(tokens: &[String], open: usize) -> usize {
    let end = closing(tokens, open);
    let mut after = telling(tokens, end + 1);
    match (after.next(), after.next()) {
        (Some(filter), Some(open)) if tokens[filter] == "FILTER" => closing(tokens, open),
        _ => end,
    }
}

/// Whether there is more than one argument.
fn is_list(arguments: &[String]) -> bool {
    let mut depth = 0_usize;
    arguments.iter().any(|token| {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_words_is_translated() {
        let cases = [
            ("SELECT a FROM t INDEXED BY t_a WHERE a = $1", "SELECT a FROM t    WHERE a = $1"),
            (
                "FROM a CROSS JOIN b ON b.x = a.x CROSS JOIN c WHERE 1",
                "FROM a  JOIN b ON b.x = a.x CROSS JOIN c WHERE 1",
            ),
            ("FROM a CROSS JOIN f(x, (y)) b ON b.x = a.x", "FROM a  JOIN f(x, (y)) b ON b.x = a.x"),
            ("SELECT 1 FROM (SELECT 2 FROM (SELECT 3) x)", "SELECT 1 FROM (SELECT 2 FROM (SELECT 3) x) AS unnamed_1"),
            ("FROM (SELECT * FROM (SELECT 1))", "FROM (SELECT * FROM (SELECT 1) AS unnamed_2) AS unnamed_1"),
            ("json_group_array(json_array(a, b))", "coalesce(json_agg(json_build_array(a, b)), '[]')"),
            ("json_group_array(a) FILTER (WHERE b) AS c", "coalesce(json_agg(a) FILTER (WHERE b), '[]') AS c"),
            ("group_concat(f(a, b))", "string_agg((f(a, b))::text, ',')"),
            ("CAST(group_concat(a, '') AS BLOB)", "CAST(string_agg(a, '') AS BYTEA)"),
            ("SELECT 'LIKE', \"a!: INTEGER\" -- LIKE\nLIKE", "SELECT 'LIKE', \"a!: INTEGER\" -- LIKE\nILIKE"),
        ];
        for (sqlite, expected) in cases {
            assert_eq!(postgres(sqlite), expected);
        }
    }
}
