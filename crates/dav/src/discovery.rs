//! Where an account's calendars and address books are (RFC 6764): from the well-known place or `url` itself, by its user, to
//! the home of their collections.

use url::Url;

use crate::client::{Client, Kind};
use crate::entry::plain_address;
use crate::error::DavError;
use crate::xml::Answer;

/// A calendar or an address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its path.
    pub href: String,
    /// What people call it.
    pub name: String,
    /// Whether the account may write there.
    pub writable: bool,
}

impl Collection {
    /// The last part of its path, by which it is told from others.
    pub fn key(&self) -> &str {
        self.href.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountCollections {
    pub collections: Vec<Collection>,
    /// What it is invited under: addresses of mail, and what the server itself calls its people.
    pub addresses: Vec<String>,
}

const PRINCIPAL: &str = "<d:current-user-principal/><d:resourcetype/>";

/// Looks.
///
/// # Errors
/// When the server does not answer, or has nothing of the kind.
pub async fn discover(client: &Client, kind: Kind) -> Result<AccountCollections, DavError> {
    let (principal, at) = principal(client, kind).await?;
    let prefix = kind.prefix();
    let home = kind.home_set();
    let asked = format!("<{prefix}:{home}/><c:calendar-user-address-set/>");
    let (mut homes, mut addresses) = (Vec::new(), Vec::new());
    if let Some(principal) = principal {
        for answer in client.propfind(client.url(&principal)?, "0", &asked).await? {
            homes.extend(hrefs(&answer, home));
            addresses.extend(hrefs(&answer, "calendar-user-address-set"));
        }
    }
    if homes.is_empty() {
        homes.push(at.path().to_owned());
    }
    let mut collections = Vec::new();
    for home in homes {
        let props =
            "<d:resourcetype/><d:displayname/><c:supported-calendar-component-set/><d:current-user-privilege-set/>";
        let below = client.propfind(client.url(&home)?, "1", props).await?;
        collections.extend(below.into_iter().filter_map(|answer| collection(answer, kind)));
    }
    if collections.is_empty() {
        return Err(DavError::Nothing(if kind == Kind::Calendar { "calendar" } else { "address book" }));
    }
    let addresses = addresses.iter().map(|address| plain_address(address)).filter(|address| !address.is_empty());
    Ok(AccountCollections { collections, addresses: addresses.collect() })
}

/// The account's user, and where it was asked for. What `url` names goes first where it leads somewhere: it may be a collection.
async fn principal(client: &Client, kind: Kind) -> Result<(Option<String>, Url), DavError> {
    let mut places = vec![client.base.clone()];
    let well_known = client.url(kind.well_known())?;
    let at = if client.base.path() == "/" { 0 } else { 1 };
    places.insert(at, well_known);
    let mut trouble = DavError::Gone;
    for place in places {
        match client.propfind(place.clone(), "0", PRINCIPAL).await {
            Ok(answers) => {
                let named = |answer: &Answer| Some(answer.props.words(&["current-user-principal", "href"])?.to_owned());
                let found = answers.iter().find_map(named);
                let is_own = answers.iter().any(|answer| answer.props.has(kind.collection()));
                if found.is_some() || is_own {
                    return Ok((found.filter(|_| !is_own), place));
                }
            }
            Err(error @ (DavError::Unauthorized(_) | DavError::Net(_) | DavError::Elsewhere(_))) => return Err(error),
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

fn hrefs(answer: &Answer, name: &str) -> Vec<String> {
    let all = answer.props.at(&[name]).map(|set| set.inner.as_slice()).unwrap_or_default();
    all.iter().filter(|inner| inner.name == "href").map(|href| href.text.trim().to_owned()).collect()
}

fn collection(answer: Answer, kind: Kind) -> Option<Collection> {
    let Answer { href, props } = answer;
    props.at(&["resourcetype", kind.collection()])?;
    let keeps = props.at(&["supported-calendar-component-set"]);
    // Lists of tasks are no calendars.
    let is_for_events = keeps.is_none_or(|set| {
        set.inner.is_empty()
            || set
                .inner
                .iter()
                .any(|comp| comp.label.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("VEVENT")))
    });
    if kind == Kind::Calendar && !is_for_events {
        return None;
    }
    let may = props.at(&["current-user-privilege-set"]);
    let writable = may.is_none_or(|may| ["write", "write-content", "all", "bind"].iter().any(|name| may.has(name)));
    let mut found = Collection { href, name: String::new(), writable };
    found.name = props.words(&["displayname"]).map_or_else(|| found.key().to_owned(), str::to_owned);
    Some(found)
}
