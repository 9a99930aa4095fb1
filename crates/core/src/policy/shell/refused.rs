//! Commands that nobody means: a courtesy to whoever would be asked. No protection rests on it.

/// How deep commands within commands are looked at.
const DEPTH_MAX: u32 = 4;
/// So many programs are named to people.
const NAMED_MAX: usize = 6;
/// Programs that run the command behind them.
const WRAPPERS: [&str; 14] = [
    "sudo", "doas", "env", "nice", "nohup", "time", "command", "exec", "builtin", "timeout", "setsid", "ionice",
    "xargs", "busybox",
];
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Folders without which the house or its system is gone.
const SYSTEM: [&str; 16] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "mnt", "opt", "proc", "root", "sbin", "srv", "sys", "usr",
    "var",
];
const DISKS: [&str; 6] = ["/dev/sd", "/dev/nvme", "/dev/vd", "/dev/hd", "/dev/mmcblk", "/dev/mapper/"];

/// Why nobody may have it run; none: they may be asked.
pub(super) fn why(command: &str) -> Option<String> {
    let dense: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    if dense.contains(":(){:|:&};:") {
        return Some("It starts copies of itself without end".to_owned());
    }
    found(command, DEPTH_MAX)
}

/// The programs that it names, by its words alone.
pub(super) fn programs(command: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for words in commands(command) {
        let name = words.into_iter().find(|word| !is_assignment(word) && word != ">");
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names.truncate(NAMED_MAX);
    names
}

fn found(text: &str, depth: u32) -> Option<String> {
    let mut at_root = false;
    for words in &commands(text) {
        let words = unwrapped(words);
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        let handed = match name {
            "eval" => Some(arguments.join(" ")),
            _ if SHELLS.contains(&name) => {
                let at = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
                at.and_then(|at| arguments.get(at + 1)).cloned()
            }
            _ => None,
        };
        let inner = handed.filter(|_| depth > 0).and_then(|handed| found(&handed, depth - 1));
        if let Some(why) = inner.or_else(|| dangerous_target(words)).or_else(|| of(name, arguments, at_root)) {
            return Some(why);
        }
        at_root |= name == "cd" && arguments.iter().any(|target| is_all(target));
    }
    None
}

/// What speaks against one command.
fn of(name: &str, arguments: &[String], at_root: bool) -> Option<String> {
    let any = |is: &dyn Fn(&str) -> bool| arguments.iter().any(|word| is(word));
    let recursive = || any(&|word| is_short(word, &['r', 'R']) || word.starts_with("--r"));
    let everything = |word: &str| is_all(word) || (at_root && matches!(word, "*" | "." | "./*"));
    let why = match name {
        "rm" if recursive() && any(&everything) => "It deletes the system, a home or what Hob lives in",
        "find" if any(&is_all) && any(&|word| word == "-delete") => {
            "It deletes the system, a home or what Hob lives in"
        }
        "wipefs" => "It wipes a disk",
        _ if name.starts_with("mkfs") => "It wipes a disk",
        "dd" | "cp" | "tee" | "shred" if any(&is_disk) => "It writes over a disk",
        "nc" | "ncat" | "netcat" if any(&|word| is_short(word, &['e', 'c'])) => "It hands a shell to somebody else",
        "socat" if any(&|word| word.contains("EXEC:") || word.contains("SYSTEM:")) => {
            "It hands a shell to somebody else"
        }
        "setenforce" | "nsenter" => "It takes down the machine's own protections",
        _ => return None,
    };
    Some(why.to_owned())
}

/// What speaks against the places that a command is led from and to.
fn dangerous_target(words: &[String]) -> Option<String> {
    let mut places = words.windows(2).filter(|pair| pair[0] == ">").map(|pair| pair[1].as_str());
    let why = places.find_map(|place| match place {
        _ if place.starts_with("/dev/tcp/") || place.starts_with("/dev/udp/") => {
            Some("It opens a line to another machine")
        }
        _ if is_disk(place) => Some("It writes over a disk"),
        _ if place.contains("sysrq-trigger") => Some("It stops the machine"),
        _ => None,
    });
    why.map(str::to_owned)
}

fn is_disk(word: &str) -> bool {
    DISKS.iter().any(|disk| word.strip_prefix("of=").unwrap_or(word).starts_with(disk))
}

/// Is it a group of short options with one of these?
fn is_short(word: &str, letters: &[char]) -> bool {
    word.strip_prefix('-').is_some_and(|short| !short.starts_with('-') && short.contains(letters))
}

/// Is it the root, a home, a folder of the system, or what the workspace lies in?
fn is_all(target: &str) -> bool {
    let target = target.trim_end_matches('*');
    if ["~", "$HOME", "${HOME}"].contains(&target.trim_end_matches('/')) {
        return true;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    if !target.starts_with('/') {
        return !parts.is_empty() && parts.iter().all(|part| *part == "..");
    }
    match parts[..] {
        [] | ["home", _] => true,
        [folder] => SYSTEM.contains(&folder),
        _ => false,
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// A command without what only runs it.
fn unwrapped(words: &[String]) -> &[String] {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if WRAPPERS.contains(&name) {
            let own = |word: &&String| word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
            words = &rest[rest.iter().take_while(own).count()..];
        } else if is_assignment(first) {
            words = rest;
        } else {
            break;
        }
    }
    words
}

/// The commands in a text, each as its words, without any claim to be right. What is handed over as a text (`<<`) is left out.
fn commands(text: &str) -> Vec<Vec<String>> {
    let begins = text.replace("<<<", "   ").find("<<");
    let end = begins.and_then(|at| text[at..].find('\n').map(|line| at + line));
    let text = text[..end.unwrap_or(text.len())].replace("${IFS}", " ").replace("$IFS", " ");
    let (mut all, mut words, mut word): (Vec<Vec<String>>, Vec<String>, Option<String>) = Default::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let ends = matches!(c, ' ' | '\t' | '<' | '>' | ';' | '&' | '|' | '(' | ')' | '`' | '\n');
        // `${HOME}` is one word; a brace of its own begins a group.
        let groups = matches!(c, '{' | '}') && word.is_none();
        if ends || groups {
            words.extend(word.take());
        }
        match c {
            ' ' | '\t' => {}
            '<' | '>' => words.push(">".to_owned()),
            // `>&` and `&>` are one with the redirection.
            '&' if words.last().is_some_and(|last| last == ">") || rest.peek() == Some(&'>') => {}
            _ if ends || groups => all.push(std::mem::take(&mut words)),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                while let Some(next) = rest.next().filter(|next| *next != c) {
                    let escaped = (next == '\\' && c == '"').then(|| rest.next()).flatten();
                    quoted.push(escaped.unwrap_or(next));
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}
