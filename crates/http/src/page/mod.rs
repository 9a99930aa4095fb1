//! What a person would read of what a server sent: bytes to text, HTML to Markdown.
//!
//! Never: I/O, a script that is run, or text that a person would not see on the page.
//! Start at [`html`]; what is left out is in `hidden` and [`characters`], what bounds it in `tree`.

pub mod characters;
pub mod charset;
mod hidden;
mod style;
#[cfg(test)]
mod tests;
mod tree;

use dom_query::Document;
use dom_smoothie::{Config, Readability};
use url::Url;

use hob_core::domain::text::head;

/// An article of fewer characters than this may be a cookie notice; the whole page is read then.
const ARTICLE_CHARS_MIN: usize = 250;
/// An article that holds less than a hundredth part so great of all the page's words is not what the page is about.
const ARTICLE_SHARE_MIN: usize = 40;
/// The most characters of a title and of a date.
const NOTE_CHARS_MAX: usize = 300;
/// What is no content wherever it stands.
const APPARATUS: &str = "script, style, noscript, template, svg, canvas, iframe, object, embed, audio, video, img, picture, \
                         input, select, textarea, button, link, meta";
/// What stands around the content.
const AROUND: &str = "nav, header, footer, aside, form, [role=navigation], [role=banner], [role=contentinfo]";

/// What a browser shows as a block of its own, and the writer of Markdown doesn't know as one.
const BLOCKS: &str = "address, aside, center, dd, details, dialog, dt, fieldset, figcaption, figure, footer, form, header, hgroup, \
                      legend, main, menu, nav, search, summary";

/// A page's readable text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageText {
    pub title: Option<String>,
    /// When it was published, as it says itself.
    pub date: Option<String>,
    /// What it says, as Markdown.
    pub text: String,
    /// Passages that nobody sees, left out.
    pub hidden: usize,
    /// Characters that nobody sees, left out.
    pub invisible: usize,
    /// It is too large or too deep to be read whole.
    pub cut: bool,
}

/// The readable text of a page that came from `url`.
pub fn html(html: &str, url: &Url) -> PageText {
    let parsed = tree::parse(html);
    let document = parsed.document;
    let hidden = hidden::remove_hidden(&document);
    let (title, date, text) = if parsed.shallow { read(&document, url) } else { (None, None, tree::words(&document)) };
    let title = title.or_else(|| title_of(&document));
    let (text, invisible) = characters::strip_invisible(&text);
    let note = |words: Option<String>| words.map(|words| one_line(&words)).filter(|words| !words.is_empty());
    PageText {
        title: note(title),
        date: note(date),
        text: collapse_blank_lines(&text).trim().to_owned(),
        hidden,
        invisible,
        cut: parsed.cut,
    }
}

/// All that a letter's HTML shows; it is not a page, and has no article to be looked for.
pub fn letter(html: &str) -> PageText {
    let parsed = tree::parse(html);
    let document = parsed.document;
    let hidden = hidden::remove_hidden(&document);
    let body = document.body().map(|body| body.inner_html()).unwrap_or_default();
    let text = if parsed.shallow { letter_markdown(&body, &document) } else { tree::words(&document) };
    let (text, invisible) = characters::strip_invisible(&text);
    PageText {
        title: None,
        date: None,
        text: collapse_blank_lines(&text).trim().to_owned(),
        hidden,
        invisible,
        cut: parsed.cut,
    }
}

/// A letter's links lead where they say: they have no page that they could be relative to.
fn letter_markdown(body: &str, document: &Document) -> String {
    match Url::parse("about:blank") {
        Ok(nowhere) => markdown(body, &nowhere),
        Err(_impossible) => tree::words(document),
    }
}

/// A page's tree, as it is, within the same bounds: for pages whose parts are known.
pub fn document(html: &str) -> Document {
    tree::parse(html).document
}

/// The words of a little HTML, on one line.
pub fn words(html: &str) -> String {
    let document = tree::parse(html).document;
    hidden::remove_hidden(&document);
    one_line(&tree::words(&document))
}

/// The article, if the page is one; else all of it.
fn read(document: &Document, url: &Url) -> (Option<String>, Option<String>, String) {
    let framed = document.clone();
    for node in framed.select(AROUND).nodes() {
        // What heads an article is its own.
        let inner = node.ancestors_it(None).any(|around| around.has_name("article"));
        if !(inner && (node.has_name("header") || node.has_name("footer"))) {
            node.remove_from_parent();
        }
    }
    let content = framed.clone();
    content.select(APPARATUS).remove();
    let all = chars_of(&tree::words(&content));
    let config = Config { max_elements_to_parse: 0, ..Config::default() };
    let article = Readability::with_document(framed, Some(url.as_str()), Some(config));
    let article = article.and_then(|mut readability| readability.parse());
    let (mut title, mut date) = (None, None);
    if let Ok(article) = article {
        (title, date) = (Some(article.title.clone()), article.published_time.clone());
        let chars = chars_of(&article.text_content);
        if chars >= ARTICLE_CHARS_MIN && chars * 100 >= all * ARTICLE_SHARE_MIN {
            return (title, date, markdown(&article.content, url));
        }
    }
    // A page that is all frame is shown with its frame.
    let shown = if all == 0 { document } else { &content };
    let body = shown.body().map(|body| body.inner_html()).unwrap_or_default();
    (title, date, markdown(&body, url))
}

fn markdown(html: &str, url: &Url) -> String {
    // What was written out is read within the same bounds as what came.
    let document = tree::parse(html).document;
    document.select(APPARATUS).remove();
    for link in document.select("a[href]").iter() {
        let to = link.attr_or("href", "");
        match url.join(&to) {
            Ok(to) if matches!(to.scheme(), "http" | "https" | "mailto") => link.set_attr("href", to.as_str()),
            Ok(_) | Err(_) => link.remove_attr("href"),
        }
        link.remove_attr("title");
    }
    document.select(BLOCKS).rename("div");
    document.body().map(|body| body.md(Some(&[])).to_string()).unwrap_or_default()
}

fn title_of(document: &Document) -> Option<String> {
    let title = document.select_single("title").text();
    (!title.trim().is_empty()).then(|| title.to_string())
}

fn chars_of(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).sum()
}

/// On one line, within a limit.
fn one_line(text: &str) -> String {
    let (text, _) = characters::strip_invisible(text);
    head(&hob_core::domain::text::one_line(&text), NOTE_CHARS_MAX).to_owned()
}

/// Without spaces at the ends of lines, and never two empty lines together.
pub fn collapse_blank_lines(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy
}
