//! What files are and how their text is shown. Pure but for the reader that it is given.

use std::io::{self, Read, Seek, SeekFrom};

use crate::files::StopFlag;

/// The most bytes of a file that one answer is made of.
pub const SHOWN_BYTES_MAX: u64 = 2 << 20;
/// How much of a file's beginning tells what it is.
const SNIFFED: usize = 8_192;
/// How much is read at once.
const STEP: usize = 64 << 10;

/// A size, for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// What bytes are, by their beginning: a MIME type. What looks like text is text.
pub fn sniff(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(SNIFFED)];
    if let Some(kind) = infer::get(head) {
        return kind.mime_type();
    }
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        return "text/plain; charset=utf-16";
    }
    if head.contains(&0) { "application/octet-stream" } else { "text/plain" }
}

/// Is that text that can be shown?
pub fn is_text(mime: &str) -> bool {
    let shown = ["text/", "application/json", "application/xml", "application/x-sh", "application/javascript"];
    shown.iter().any(|kind| mime.starts_with(kind)) && !mime.ends_with("utf-16")
}

/// Which lines are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineRange {
    /// The first, from 1.
    pub from: Option<u64>,
    /// How many at most.
    pub count: Option<u64>,
}

/// The text of a file, its lines with their numbers; of a large one head and tail.
///
/// # Errors
/// When it cannot be read, or the call is gone.
pub fn view<F: Read + Seek>(file: &mut F, wanted: LineRange, stop: &StopFlag) -> io::Result<Result<String, String>> {
    let total = file.seek(SeekFrom::End(0))?;
    let head = read(file, 0, SNIFFED as u64)?;
    let mime = sniff(&head);
    if !is_text(mime) {
        return Ok(Err(format!("This is {mime}, {}: not text that can be shown.", size(total))));
    }
    if total == 0 {
        return Ok(Ok("(The file is empty.)".to_owned()));
    }
    let first = wanted.from.unwrap_or(1).max(1);
    if wanted == LineRange::default() && total > SHOWN_BYTES_MAX {
        return head_and_tail(file, total).map(Ok);
    }
    let (at, lines_before) = find_line(file, first, stop)?;
    if lines_before + 1 < first {
        return Ok(Err(format!("The file has {} lines, so there is no line {first}.", lines_before + 1)));
    }
    if at >= total {
        return Ok(Err(format!("The file has {lines_before} lines, so there is no line {first}.")));
    }
    let bytes = read(file, at, SHOWN_BYTES_MAX)?;
    let cut = at + (bytes.len() as u64) < total;
    let text = whole_lines(&bytes, cut);
    let count = usize::try_from(wanted.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let shown = numbered(&text, first, count);
    let last = first + (text.lines().count().min(count) as u64);
    let left = cut || text.lines().count() > count;
    let note = if left { format!("[There is more: from_line {last}]") } else { String::new() };
    let replaced =
        if text.contains('\u{fffd}') { "[It is not all UTF-8: some characters are replaced.]\n" } else { "" };
    Ok(Ok(format!("{replaced}{shown}{note}").trim_end_matches('\n').to_owned()))
}

fn numbered(text: &str, first: u64, count: usize) -> String {
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    for (number, line) in (first..).zip(text.lines().take(count)) {
        shown.push_str(&number.to_string());
        shown.push('\t');
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

/// The beginning, with numbers, and the end, without: nobody has counted the lines between.
fn head_and_tail<F: Read + Seek>(file: &mut F, total: u64) -> io::Result<String> {
    let half = SHOWN_BYTES_MAX / 2;
    let head = read(file, 0, half)?;
    let head = whole_lines(&head, true);
    let tail = read(file, total - half, half)?;
    let tail = String::from_utf8_lossy(&tail);
    let tail = tail.split_once('\n').map_or("", |(_, rest)| rest);
    let left_out = total.saturating_sub((head.len() + tail.len()) as u64);
    let head = numbered(&head, 1, usize::MAX);
    Ok(format!("{head}… {} left out; from_line and lines show them …\n{tail}", size(left_out)))
}

/// The text; where the end was cut off, up to the last whole line.
fn whole_lines(bytes: &[u8], cut: bool) -> String {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    String::from_utf8_lossy(if cut { &bytes[..end] } else { bytes }).into_owned()
}

/// Where a line begins, and how many lines end before that; the end of the file, if there are fewer.
fn find_line<F: Read + Seek>(file: &mut F, line: u64, stop: &StopFlag) -> io::Result<(u64, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let (mut at, mut seen) = (0_u64, 0_u64);
    let mut buffer = vec![0; STEP];
    while seen + 1 < line {
        if stop.is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        for (index, _) in buffer[..read].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            seen += 1;
            if seen + 1 == line {
                return Ok((at + index as u64 + 1, seen));
            }
        }
        at += read as u64;
    }
    Ok((at, seen))
}

fn read<F: Read + Seek>(file: &mut F, at: u64, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn shown(bytes: &[u8], from: Option<u64>, count: Option<u64>) -> Result<String, String> {
        view(&mut Cursor::new(bytes), LineRange { from, count }, &StopFlag::default()).unwrap()
    }

    #[test]
    fn lines_are_numbered_and_pieces_say_what_follows() {
        let text = b"one\ntwo\nthree\n";
        assert_eq!(shown(text, None, None).unwrap(), "1\tone\n2\ttwo\n3\tthree");
        assert_eq!(shown(text, Some(2), Some(1)).unwrap(), "2\ttwo\n[There is more: from_line 3]");
        assert_eq!(shown(text, Some(3), Some(9)).unwrap(), "3\tthree");
        assert_eq!(shown(text, Some(4), None).unwrap_err(), "The file has 3 lines, so there is no line 4.");
        assert_eq!(shown(text, Some(u64::MAX), None).unwrap_err().split(',').next(), Some("The file has 4 lines"));
        assert_eq!(shown(b"", None, None).unwrap(), "(The file is empty.)");
        assert!(shown(b"a\xffb", None, None).unwrap().starts_with("[It is not all UTF-8"));
    }

    #[test]
    fn what_is_no_text_says_what_it_is() {
        insta::assert_snapshot!(shown(b"\x89PNG\r\n\x1a\n....", None, None).unwrap_err(), @"This is image/png, 12 bytes: not text that can be shown.");
        insta::assert_snapshot!(shown(b"a\0b", None, None).unwrap_err(), @"This is application/octet-stream, 3 bytes: not text that can be shown.");
    }

    #[test]
    fn c9_a_large_file_is_shown_by_its_ends_and_bounded() {
        let big: Vec<u8> = (0..500_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let text = shown(&big, None, None).unwrap();
        assert!(text.len() < 3 << 20 && text.starts_with("1\tline 0\n") && text.ends_with("line 499999\n"));
        assert!(text.contains("left out; from_line"), "{}", text.len());
        assert_eq!(
            shown(&big, Some(400_000), Some(1)).unwrap(),
            "400000\tline 399999\n[There is more: from_line 400001]"
        );
        let line = vec![b'x'; 5 << 20];
        assert!(shown(&line, Some(1), None).unwrap().len() < 3 << 20);
    }
}
