//! One text as each platform gets it.

use crate::domain::capabilities::Capabilities;
use crate::domain::inbound::ChannelKind;
use crate::render::tests::{discord, mail, slack, telegram};
use crate::render::{Chunk, render};

const SAMPLE: &str = r####"# Übersicht für *Müller & Söhne*

Die **Größe *und* Straße** ~~fehlen~~; siehe `a < b && c`, ``x`y`` und
[Wiki (Saale)](https://de.example/wiki/Hof_(Saale)?a=1&b=2), <b>kein HTML</b>, snake_case, 2*3*4.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail <anna@e.example>, https://e.example/a_b.

- eins
  - zwei **fett**
    1. drei
       mit Zeile
    2. vier
- [x] getan
- [ ] offen

> Ein Zitat
>
> > darin noch eins

```rust
fn main() { println!("<&>"); }
let fence = "```";
```

| Name | Preis |
|------|------:|
| Äpfel | 2,50 € |
| 漢字 | **1** |

## Ende

---
"####;

fn only(capabilities: &Capabilities) -> Chunk {
    let mut chunks = render(SAMPLE, capabilities);
    assert_eq!(chunks.len(), 1);
    chunks.remove(0)
}

/// The text with signs for what cannot be seen.
fn visible(text: &str) -> String {
    text.replace('\u{200b}', "¦").replace('\u{1b}', "␛")
}

#[test]
fn k2_a_reply_as_telegram_gets_it() {
    let chunk = only(&telegram());
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
<b>Übersicht für <i>Müller &amp; Söhne</i></b>

Die <b>Größe <i>und</i> Straße</b> <s>fehlen</s>; siehe <code>a &lt; b &amp;&amp; c</code>, <code>x`y</code> und
<a href="https://de.example/wiki/Hof_(Saale)?a=1&amp;b=2">Wiki (Saale)</a>, &lt;b&gt;kein HTML&lt;/b&gt;, snake_case, 2<i>3</i>4.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail anna@e.example, <a href="https://e.example/a_b">https://e.example/a_b</a>.

• eins
  ◦ zwei <b>fett</b>
    1. drei
       mit Zeile
    2. vier
• ☑ getan
• ☐ offen

<blockquote>Ein Zitat

│ darin noch eins</blockquote>

<pre><code class="language-rust">fn main() { println!(&quot;&lt;&amp;&gt;&quot;); }
let fence = &quot;```&quot;;</code></pre>

<pre>Name  |  Preis
------+-------
Äpfel | 2,50 €
漢字  |      1</pre>

<b>Ende</b>

———
"####);
}

#[test]
fn k2_a_reply_as_slack_gets_it() {
    let chunk = only(&Capabilities::slack_text());
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
*Übersicht für _Müller &amp; Söhne_*

Die *Größe _und_ Straße* ~fehlen~; siehe `a &lt; b &amp;&amp; c`, x`y und
<https://de.example/wiki/Hof_(Saale)?a=1&amp;b=2|Wiki (Saale)>, &lt;b&gt;kein HTML&lt;/b&gt;, snake_case, 2¦_3_¦4.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail <mailto:anna@e.example|anna@e.example>, <https://e.example/a_b>.

• eins
  ◦ zwei *fett*
    1. drei
       mit Zeile
    2. vier
• ☑ getan
• ☐ offen

> Ein Zitat
>
> │ darin noch eins

```
fn main() { println!("&lt;&amp;&gt;"); }
let fence = "``¦`";
```

```
Name  |  Preis
------+-------
Äpfel | 2,50 €
漢字  |      1
```

*Ende*

———
"####);
}

#[test]
fn k2_a_reply_as_discord_gets_it() {
    let chunk = only(&discord());
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
# Übersicht für *Müller & Söhne*

Die **Größe *und* Straße** ~~fehlen~~; siehe `a < b && c`, ``x`y`` und
[Wiki (Saale)](<https://de.example/wiki/Hof_(Saale)?a=1&b=2>), \<b>kein HTML\</b>, snake\_case, 2*3*4.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail anna@e.example, <https://e.example/a_b>.

- eins
  - zwei **fett**
    1. drei
       mit Zeile
    2. vier
- ☑ getan
- ☐ offen

> Ein Zitat
> 
> │ darin noch eins

```rust
fn main() { println!("<&>"); }
let fence = "``¦`";
```

```
Name  |  Preis
------+-------
Äpfel | 2,50 €
漢字  |      1
```

## Ende

———
"####);
}

#[test]
fn k2_a_reply_as_mail_gets_it() {
    let chunk = only(&mail());
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
<h1 style="margin:1em 0 .5em">Übersicht für <em>Müller &amp; Söhne</em></h1>
<p style="margin:0 0 1em">Die <strong>Größe <em>und</em> Straße</strong> <del>fehlen</del>; siehe <code>a &lt; b &amp;&amp; c</code>, <code>x`y</code> und<br>
<a href="https://de.example/wiki/Hof_(Saale)?a=1&amp;b=2" rel="noopener noreferrer nofollow">Wiki (Saale)</a>, &lt;b&gt;kein HTML&lt;/b&gt;, snake_case, 2<em>3</em>4.</p>
<p style="margin:0 0 1em">Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail <a href="mailto:anna@e.example" rel="noopener noreferrer nofollow">anna@e.example</a>, <a href="https://e.example/a_b" rel="noopener noreferrer nofollow">https://e.example/a_b</a>.</p>
<ul>
<li>eins
<ul>
<li>zwei <strong>fett</strong>
<ol>
<li>drei<br>
mit Zeile</li>
<li>vier</li>
</ol></li>
</ul></li>
<li>☑ getan</li>
<li>☐ offen</li>
</ul>
<blockquote style="margin:0 0 1em;padding-left:1em;border-left:3px solid #ccc">
<p style="margin:0 0 1em">Ein Zitat</p>
<blockquote style="margin:0 0 1em;padding-left:1em;border-left:3px solid #ccc">
<p style="margin:0 0 1em">darin noch eins</p>
</blockquote>
</blockquote>
<pre style="background:#f4f4f4;padding:.7em;overflow:auto"><code class="language-rust">fn main() { println!(&quot;&lt;&amp;&gt;&quot;); }
let fence = &quot;```&quot;;</code></pre>
<table style="border-collapse:collapse">
<thead>
<tr><th style="text-align:left;border:1px solid #ccc;padding:.2em .6em">Name</th><th style="text-align:right;border:1px solid #ccc;padding:.2em .6em">Preis</th></tr></thead>
<tbody>
<tr><td style="text-align:left;border:1px solid #ccc;padding:.2em .6em">Äpfel</td><td style="text-align:right;border:1px solid #ccc;padding:.2em .6em">2,50 €</td></tr>
<tr><td style="text-align:left;border:1px solid #ccc;padding:.2em .6em">漢字</td><td style="text-align:right;border:1px solid #ccc;padding:.2em .6em"><strong>1</strong></td></tr></tbody>
</table>
<h2 style="margin:1em 0 .5em">Ende</h2>
<hr>

"####);
    insta::assert_snapshot!(visible(&chunk.plain), @r####"
Übersicht für Müller & Söhne

Die Größe und Straße fehlen; siehe a < b && c, x`y und
Wiki (Saale) <https://de.example/wiki/Hof_(Saale)?a=1&b=2>, <b>kein
HTML</b>, snake_case, 234.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail anna@e.example,
https://e.example/a_b.

• eins
  ◦ zwei fett
    1. drei
       mit Zeile
    2. vier
• ☑ getan
• ☐ offen

> Ein Zitat
>
> > darin noch eins

    fn main() { println!("<&>"); }
    let fence = "```";

    Name  |  Preis
    ------+-------
    Äpfel | 2,50 €
    漢字  |      1

Ende

———
"####);
}

#[test]
fn k2_a_reply_as_web_gets_it() {
    let chunk = only(Capabilities::of(ChannelKind::Web));
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
<h1>Übersicht für <em>Müller &amp; Söhne</em></h1>
<p>Die <strong>Größe <em>und</em> Straße</strong> <del>fehlen</del>; siehe <code>a &lt; b &amp;&amp; c</code>, <code>x`y</code> und<br>
<a href="https://de.example/wiki/Hof_(Saale)?a=1&amp;b=2" rel="noopener noreferrer nofollow">Wiki (Saale)</a>, &lt;b&gt;kein HTML&lt;/b&gt;, snake_case, 2<em>3</em>4.</p>
<p>Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail <a href="mailto:anna@e.example" rel="noopener noreferrer nofollow">anna@e.example</a>, <a href="https://e.example/a_b" rel="noopener noreferrer nofollow">https://e.example/a_b</a>.</p>
<ul>
<li>eins
<ul>
<li>zwei <strong>fett</strong>
<ol>
<li>drei<br>
mit Zeile</li>
<li>vier</li>
</ol></li>
</ul></li>
<li>☑ getan</li>
<li>☐ offen</li>
</ul>
<blockquote>
<p>Ein Zitat</p>
<blockquote>
<p>darin noch eins</p>
</blockquote>
</blockquote>
<pre><code class="language-rust">fn main() { println!(&quot;&lt;&amp;&gt;&quot;); }
let fence = &quot;```&quot;;</code></pre>
<table>
<thead>
<tr><th class="left">Name</th><th class="right">Preis</th></tr></thead>
<tbody>
<tr><td class="left">Äpfel</td><td class="right">2,50 €</td></tr>
<tr><td class="left">漢字</td><td class="right"><strong>1</strong></td></tr></tbody>
</table>
<h2>Ende</h2>
<hr>

"####);
}

#[test]
fn k2_a_reply_as_terminal_gets_it() {
    let chunk = only(&Capabilities::terminal(true, Some(60)));
    insta::assert_snapshot!(visible(&chunk.markup), @r####"
␛[1mÜbersicht für ␛[3mMüller & Söhne␛[23m␛[22m

Die ␛[1mGröße ␛[3mund␛[23m Straße␛[22m ␛[9mfehlen␛[29m; siehe ␛[36ma < b && c␛[39m, ␛[36mx`y␛[39m und
Wiki (Saale) <https://de.example/wiki/Hof_(Saale)?a=1&b=2>,
<b>kein HTML</b>, snake_case, 2␛[3m3␛[23m4.

Familie 👩‍👩‍👧‍👦, Flagge 🇩🇪, שלום עולם, e-mail anna@e.example,
https://e.example/a_b.

• eins
  ◦ zwei ␛[1mfett␛[22m
    1. drei
       mit Zeile
    2. vier
• ☑ getan
• ☐ offen

│ Ein Zitat
│
│ │ darin noch eins

    ␛[36mfn main() { println!("<&>"); }␛[39m
    ␛[36mlet fence = "```";␛[39m

    ␛[36mName  |  Preis␛[39m
    ␛[36m------+-------␛[39m
    ␛[36mÄpfel | 2,50 €␛[39m
    ␛[36m漢字  |      1␛[39m

␛[1mEnde␛[22m

———
"####);
}

#[test]
fn k2_slack_gets_sections() {
    let chunk = &render("Hello *you* & \"me\"", &slack())[0];
    insta::assert_snapshot!(
        chunk.markup,
        @r#"[{"type":"section","text":{"type":"mrkdwn","text":"Hello _you_ &amp; \"me\"","verbatim":true}}]"#
    );
    assert_eq!(chunk.plain, "Hello you &amp; \"me\"");
}
