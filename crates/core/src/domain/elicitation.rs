//! What the server of a tool asks the person whose call it works on (MCP's elicitation): a form of a few plain fields, or a page to
//! look at.
//!
//! Part of what is stored of a run for years: change it only by adding.
//! Never: a secret asked for. A form that wants one is refused before anybody sees it.
//! Start at [`Elicitation::form`]; what a person's words answer is [`Elicitation::reply`].

mod field;
mod secrets;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::{Host, Url};

use crate::domain::elicitation::field::{Field, one_line, yes_no};
use crate::policy::invisible::marked;
use crate::policy::net::{AddressZone, zone};

/// The most fields of a form.
const FIELDS_MAX: usize = 20;
/// The most characters of the server's words about all of it …
const MESSAGE_CHARS_MAX: usize = 1_000;
/// … of a page's address …
const ADDRESS_CHARS_MAX: usize = 1_000;
const ANSWER_CHARS_MAX: usize = 4_000;
/// Ends of names that lead into the house, or nowhere.
const INNER_NAMES: [&str; 5] = [".local", ".localhost", ".internal", ".lan", ".home.arpa"];

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elicitation {
    /// As the person reads it.
    pub question: String,
    pub wants: ElicitationKind,
}

/// What is wanted of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ElicitationKind {
    /// That they fill in a form.
    Form {
        /// Its fields; none: a yes or a no.
        fields: Vec<Field>,
    },
    /// That they look at a page.
    Page,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ElicitReply {
    Accept {
        /// The form, filled in.
        content: Map<String, Value>,
    },
    /// No.
    Decline,
    /// Neither: nobody was there, or they went.
    Cancel,
}

/// Why a question is not put to anybody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElicitationError {
    /// It is no form that a person could fill in.
    #[error(
        "a form has at most {FIELDS_MAX} fields, each words, a number, yes or no, or one or several of a few values"
    )]
    Form,
    /// The page has no address that a person should open.
    #[error("a page needs an https address on the public internet, without a user name in it")]
    Address,
    /// It looks as if it asked for a secret.
    #[error("it looks as if it asked for a password, a key, a token or a code, and nobody is asked for that")]
    Secret,
}

/// Why words are no answer, for whoever said them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAnswer(String);

/// Whose question it is.
#[derive(Debug, Clone, Copy)]
pub struct ElicitationSource<'a> {
    /// The server's name in the config.
    pub server: &'a str,
    /// What it says.
    pub message: &'a str,
}

impl Elicitation {
    /// A form, by its schema; the fields stand in `order`, as far as that is known.
    ///
    /// # Errors
    /// When it is none that a person could fill in in words, or asks for a secret.
    pub fn form(asking: ElicitationSource<'_>, schema: &Value, order: &[String]) -> Result<Self, ElicitationError> {
        let properties = schema["properties"].as_object().ok_or(ElicitationError::Form)?;
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let mut names: Vec<&String> = order.iter().filter(|name| properties.contains_key(*name)).collect();
        names.extend(properties.keys().filter(|name| !order.contains(name)));
        if names.len() > FIELDS_MAX {
            return Err(ElicitationError::Form);
        }
        let mut fields = Vec::new();
        for name in names {
            let schema = &properties[name];
            let field = Field::read(name, schema, required.contains(&name.as_str())).ok_or(ElicitationError::Form)?;
            if secrets::asks_for_one(&field, schema, asking.message) {
                return Err(ElicitationError::Secret);
            }
            fields.push(field);
        }
        Ok(Self { question: form_text(asking, &fields), wants: ElicitationKind::Form { fields } })
    }

    /// A page that somebody is to look at.
    ///
    /// # Errors
    /// When it has no address that a person should open.
    pub fn page(asking: ElicitationSource<'_>, address: &str) -> Result<Self, ElicitationError> {
        let url = public_page(address).ok_or(ElicitationError::Address)?;
        let host = url.host_str().unwrap_or_default();
        let question = format!(
            "{}\nIt wants you to look at a page of {host}:\n{url}\nI open nothing, and do not see what you do there. Say `yes` once you \
             have done it, or `no`.",
            head(asking)
        );
        Ok(Self { question, wants: ElicitationKind::Page })
    }

    /// What a person's words answer.
    ///
    /// # Errors
    /// When they are no answer: why not, for them.
    pub fn reply(&self, words: &str) -> Result<ElicitReply, NoAnswer> {
        let words = words.trim();
        let said = words.trim_end_matches(['.', '!']).to_lowercase();
        match (said.as_str(), &self.wants) {
            ("decline", _) => Ok(ElicitReply::Decline),
            ("cancel", _) => Ok(ElicitReply::Cancel),
            (_, ElicitationKind::Form { fields }) if !fields.is_empty() => {
                if words.chars().count() > ANSWER_CHARS_MAX {
                    return Err(NoAnswer(format!("That is too long: at most {ANSWER_CHARS_MAX} characters.")));
                }
                let words = if said == "defaults" { "" } else { words };
                Ok(ElicitReply::Accept { content: filled(fields, words)? })
            }
            (said, ElicitationKind::Form { .. } | ElicitationKind::Page) => match yes_no(said) {
                Some(true) => Ok(ElicitReply::Accept { content: Map::new() }),
                Some(false) => Ok(ElicitReply::Decline),
                None => Err(NoAnswer("Say `yes` or `no`.".to_owned())),
            },
        }
    }
}

/// The address of a page that anybody may be sent to: its scheme, its host and its name are what they look like.
fn public_page(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok().filter(|_| address.chars().count() <= ADDRESS_CHARS_MAX)?;
    let is_public = match url.host()? {
        Host::Domain(name) => name.contains('.') && !INNER_NAMES.iter().any(|end| name.ends_with(end)),
        Host::Ipv4(ip) => matches!(zone(ip.into()), AddressZone::Public),
        Host::Ipv6(ip) => matches!(zone(ip.into()), AddressZone::Public),
    };
    let is_plain = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
    (is_public && is_plain).then_some(url)
}

/// Whose words follow: nothing of a server's looks like Hob's own, or like another question of Hob's.
fn head(asking: ElicitationSource<'_>) -> String {
    let words: String = asking.message.trim().chars().take(MESSAGE_CHARS_MAX).collect();
    let lines: String = marked(&words).lines().map(|line| format!("\n> {line}")).collect();
    let server = asking.server;
    format!("The MCP server {server} asks you something. These are its words, not mine. Tell it no password:{lines}")
}

fn form_text(asking: ElicitationSource<'_>, fields: &[Field]) -> String {
    let lines: String = fields.iter().map(|field| format!("\n- {}: {}", field.title, field.wanted())).collect();
    let wants = if lines.is_empty() { lines } else { format!("\nIt wants:{lines}") };
    let how = match fields {
        [] => "Say `yes` or `no`.".to_owned(),
        [_] => "Your answer goes to it. `decline` gives none.".to_owned(),
        [first, ..] => format!("Answer with a line for each, like `{}: …`. `decline` gives no answer.", first.title),
    };
    let has_default = |field: &Field| field.default.is_some();
    let is_filled = fields.iter().any(has_default) && fields.iter().all(|field| !field.required || has_default(field));
    let defaults = if is_filled { " `defaults` takes what stands there." } else { "" };
    format!("{}{wants}\n{how}{defaults}", head(asking))
}

/// A form, filled in with what these words say; where they say nothing, with what it has by itself.
fn filled(fields: &[Field], words: &str) -> Result<Map<String, Value>, NoAnswer> {
    let mut said: Vec<Option<&str>> = vec![None; fields.len()];
    if let [only] = said.as_mut_slice() {
        *only = Some(named_line(fields, words).map_or(words, |(_, value)| value));
    } else {
        for line in words.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some((at, value)) = named_line(fields, line) else {
                let (line, title) = (one_line(line), fields.first().map_or("", |field| field.title.as_str()));
                let which = format!("I do not know which of them \"{line}\" is. Begin each line like `{title}: …`.");
                return Err(NoAnswer(which));
            };
            said[at] = Some(value);
        }
    }
    let mut content = Map::new();
    for (field, said) in fields.iter().zip(said) {
        let value = match said.filter(|said| !said.is_empty()) {
            Some(said) => Some(field.kind.value(said).ok_or_else(|| {
                NoAnswer(format!(
                    "\"{}\" is no answer for {}: it takes {}.",
                    one_line(said),
                    field.title,
                    field.wanted()
                ))
            })?),
            None => field.default.clone(),
        };
        match value {
            Some(value) => drop(content.insert(field.name.clone(), value)),
            None if field.required => return Err(NoAnswer(format!("{} is missing: {}.", field.title, field.wanted()))),
            None => {}
        }
    }
    Ok(content)
}

/// The field that a line names, and what it says of it.
fn named_line<'w>(fields: &[Field], line: &'w str) -> Option<(usize, &'w str)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim().trim_start_matches("- ").to_lowercase();
    Some((fields.iter().position(|field| field.is_called(&name))?, value.trim()))
}

#[cfg(test)]
mod tests;
