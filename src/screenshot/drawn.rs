//! The picture of an app that no browser has taken: its slug, on a colour of its own.

use bytes::Bytes;
use font8x8::UnicodeFonts as _;
use rookery_domain::app::AppRecord;

use super::Size;

/// Pixels of a letter's side, before it is enlarged.
const LETTER: u32 = 8;
/// Letters are enlarged so many times at most.
const ENLARGED_MAX: u32 = 12;
/// The margin on each side, as a part of the width.
const MARGIN_PART: u32 = 12;
/// How bright each colour of the ground is, at most: white letters stay legible on it.
const GROUND_MAX: u8 = 0x70;
const INK: [u8; 3] = [0xff; 3];

/// Draws it. `None` if it cannot be encoded, which would be a fault here.
pub(super) fn draw(app: &AppRecord, size: Size) -> Option<Bytes> {
    let (width, height) = size.pixels();
    let letters: Vec<[u8; 8]> =
        app.slug.chars().filter_map(|letter| font8x8::BASIC_FONTS.get(letter)).collect();
    let count = u32::try_from(letters.len()).ok()?.max(1);
    let room = width - 2 * (width / MARGIN_PART);
    // A long name takes more than one line.
    let lines =
        (1..=count).find(|lines| room / (count.div_ceil(*lines) * LETTER) >= ENLARGED_MAX / 3);
    let lines = lines.unwrap_or(count);
    let per_line = count.div_ceil(lines);
    let enlarged = (room / (per_line * LETTER)).clamp(1, ENLARGED_MAX);
    let side = LETTER * enlarged;
    let top = height.saturating_sub(lines * side) / 2;
    // One byte a pixel: 0 is the ground, 1 the ink.
    let mut pixels = vec![0_u8; (width * height) as usize];
    for (letter, at) in letters.iter().zip(0_u32..) {
        let (line, column) = (at / per_line, at % per_line);
        let of_line = per_line.min(count - line * per_line);
        let left = (width - of_line * side) / 2;
        stamp(&mut pixels, width, (left + column * side, top + line * side), letter, enlarged);
    }
    encode(&pixels, (width, height), ground(app))
}

fn stamp(pixels: &mut [u8], width: u32, (x, y): (u32, u32), letter: &[u8; 8], enlarged: u32) {
    for (row, bits) in (0_u32..).zip(letter) {
        for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
            for below in 0..enlarged {
                let start = (y + row * enlarged + below) * width + x + column * enlarged;
                let start = start as usize;
                if let Some(run) = pixels.get_mut(start..start + enlarged as usize) {
                    run.fill(1);
                }
            }
        }
    }
}

/// A colour that is the same for all versions of the app.
fn ground(app: &AppRecord) -> [u8; 3] {
    let id = app.id.uuid().into_bytes();
    [id[13], id[14], id[15]].map(|byte| byte % (GROUND_MAX + 1))
}

fn encode(pixels: &[u8], (width, height): (u32, u32), ground: [u8; 3]) -> Option<Bytes> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette([ground, INK].concat());
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels).ok()?;
    writer.finish().ok()?;
    Some(png.into())
}
