//! An answer's body, within limits.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What was packed, unpacked up to a limit; whether there is more.
pub(super) fn unpack(coding: &str, body: Vec<u8>, cut: bool, bytes_max: usize) -> io::Result<(Vec<u8>, bool)> {
    let coding = coding.trim().to_ascii_lowercase();
    // Some servers send a bare stream as `deflate`; the other one's first byte tells them apart.
    let wrapped = body.first().is_some_and(|first| first & 0x0f == 8);
    match coding.as_str() {
        "" | "identity" => Ok((body, cut)),
        // An answer to HEAD has the header and no body.
        _ if body.is_empty() => Ok((body, cut)),
        "gzip" | "x-gzip" => bounded(MultiGzDecoder::new(body.as_slice()), cut, bytes_max),
        "deflate" if wrapped => bounded(ZlibDecoder::new(body.as_slice()), cut, bytes_max),
        "deflate" => bounded(DeflateDecoder::new(body.as_slice()), cut, bytes_max),
        _ => Err(io::Error::other("it answers in a packing that was not asked for")),
    }
}

fn bounded(packed: impl Read, cut: bool, bytes_max: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    let mut limited = packed.take(bytes_max as u64 + 1);
    let mut piece = [0; 16 * 1024];
    loop {
        match limited.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => body.extend_from_slice(&piece[..len]),
            // What was cut cannot be whole.
            Err(_unfinished) if cut => break,
            Err(error) => return Err(io::Error::other(format!("its packing is damaged: {error}"))),
        }
    }
    let more = body.len() > bytes_max;
    body.truncate(bytes_max);
    Ok((body, cut || more))
}
