use super::*;
use hob_core::domain::ids::FileId;

fn png_of(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    [head, width.to_be_bytes().to_vec(), height.to_be_bytes().to_vec(), vec![8, 2, 0, 0, 0]].concat()
}

fn gif_of(width: u16, rest: &[u8]) -> Vec<u8> {
    [b"GIF89a".to_vec(), width.to_le_bytes().to_vec(), vec![9, 0, 0, 0, 0], rest.to_vec()].concat()
}

fn jpeg_of(frame: &[u8]) -> Vec<u8> {
    let exif = [&[0xFF, 0xE1, 0, 6], b"Exif".as_slice()].concat();
    let table = vec![0xFF, 0xC4, 0, 3, 0];
    [vec![0xFF, 0xD8], exif, table, vec![0xFF], frame.to_vec()].concat()
}

fn webp_of(chunk: &[u8; 4], rest: &[u8]) -> Vec<u8> {
    [b"RIFF\0\0\0\0WEBP".to_vec(), chunk.to_vec(), vec![0; 4], rest.to_vec()].concat()
}

#[test]
fn c6_the_header_of_a_picture_tells_whether_it_can_be_shown() {
    let sof = [0xFF, 0xC2, 0, 11, 8, 0x02, 0x00, 0x03, 0x00, 1, 1, 0x11, 0];
    let mut heavy = png_of(10, 10);
    heavy.resize(usize::try_from(BYTES_MAX).unwrap() + 1, 0);
    let table = [
        ("image/png", png_of(640, 480), Ok(MediaType::Png)),
        ("image/png", png_of(8_000, 8_000), Ok(MediaType::Png)),
        ("image/png", png_of(8_001, 1), Err(PictureRejection::TooLarge(8_001, 1))),
        ("image/png", png_of(u32::MAX, u32::MAX), Err(PictureRejection::TooLarge(u32::MAX, u32::MAX))),
        ("image/png", png_of(0, 480), Err(PictureRejection::Damaged)),
        ("image/png", b"\x89PNG\r\n\x1a\n".to_vec(), Err(PictureRejection::Damaged)),
        ("image/png", heavy, Err(PictureRejection::TooHeavy)),
        ("image/gif", gif_of(16, b""), Ok(MediaType::Gif)),
        ("image/gif", gif_of(16, b"!\xff\x0bNETSCAPE2.0"), Err(PictureRejection::Moves)),
        ("image/jpeg", jpeg_of(&sof), Ok(MediaType::Jpeg)),
        ("image/jpeg", jpeg_of(&[0xFF, 0xDA, 0, 2]), Err(PictureRejection::Damaged)),
        ("image/jpeg", jpeg_of(&sof[..4]), Err(PictureRejection::Damaged)),
        ("image/jpeg", vec![0xFF, 0xD8, 0xFF], Err(PictureRejection::Damaged)),
        ("image/webp", webp_of(b"VP8X", &[0, 0, 0, 0, 99, 0, 0, 49, 0, 0]), Ok(MediaType::WebP)),
        ("image/webp", webp_of(b"VP8X", &[2, 0, 0, 0, 99, 0, 0, 49, 0, 0]), Err(PictureRejection::Moves)),
        ("image/webp", webp_of(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, 100, 0, 50, 0]), Ok(MediaType::WebP)),
        ("image/webp", webp_of(b"VP8L", &[0x2F, 99, 0x40, 0x0C, 0]), Ok(MediaType::WebP)),
        ("image/webp", webp_of(b"ALPH", &[0; 20]), Err(PictureRejection::Damaged)),
    ];
    for (mime, bytes, expected) in table {
        assert_eq!(inspect(mime, &bytes), Some(expected), "{mime} {:?}", &bytes[..bytes.len().min(40)]);
    }
    assert_eq!(inspect("image/bmp", b"BM"), None);
    assert_eq!(inspect("text/plain", b"GIF89a"), None);
}

#[test]
fn c6_the_size_is_read_where_each_kind_has_it() {
    assert_eq!(png(&png_of(640, 480)), Some((640, 480)));
    assert_eq!(gif(&gif_of(300, b"")), Some((300, 9)));
    assert_eq!(jpeg(&jpeg_of(&[0xC0, 0, 11, 8, 2, 0, 3, 0])), Some((768, 512)));
    assert_eq!(webp(&webp_of(b"VP8X", &[0, 0, 0, 0, 99, 0, 0, 49, 0, 0])), Some((100, 50)));
    assert_eq!(webp(&webp_of(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, 100, 0, 50, 0])), Some((100, 50)));
    assert_eq!(webp(&webp_of(b"VP8L", &[0x2F, 99, 0x40, 0x0C, 0])), Some((100, 50)));
}

#[test]
fn c6_only_so_many_pictures_go_along_and_they_leave_in_steps() {
    let of = |bytes: u64| Picture {
        file: FileId(1),
        hash: String::new(),
        media_type: MediaType::Png,
        name: String::new(),
        bytes,
    };
    let left_out = |count: usize, bytes: u64| {
        let pictures = vec![of(bytes); count];
        plan(&pictures.iter().collect::<Vec<_>>())
    };
    let table = [
        (0, 1, 0),
        (8, 1, 0),
        (9, 1, 4),
        (12, 1, 4),
        (13, 1, 8),
        (3, 3_900_000, 0),
        (4, 3_900_000, 1),
        (9, 3_900_000, 6),
    ];
    for (count, bytes, expected) in table {
        assert_eq!(left_out(count, bytes), expected, "{count} of {bytes}");
    }
}
