//! Writes a small database in MaxMind's format (version 2.0 of its specification): whole /8
//! networks of IPv4, a country each.

const RECORD_BITS: u16 = 24;
const NETWORK_BITS: u32 = 8;
/// Zeros between the tree and the data.
const SEPARATOR: usize = 16;

#[derive(Clone, Copy)]
enum Record {
    Empty,
    Node(usize),
    Data(usize),
}

/// The bytes of a database in which `<first>.0.0.0/8` has the text in this place of its record: member by
/// member.
pub fn database(place: &[&str], networks: &[(u8, &str)]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut nodes = vec![[Record::Empty; 2]];
    for (first, country) in networks {
        let at = data.len();
        for member in place {
            map(&mut data, 1);
            text(&mut data, member);
        }
        text(&mut data, country);
        let mut node = 0;
        for bit in (0..NETWORK_BITS).rev() {
            let side = usize::from(first >> bit & 1);
            if bit == 0 {
                nodes[node][side] = Record::Data(at);
            } else if let Record::Node(next) = nodes[node][side] {
                node = next;
            } else {
                nodes.push([Record::Empty; 2]);
                let next = nodes.len() - 1;
                nodes[node][side] = Record::Node(next);
                node = next;
            }
        }
    }
    let mut file = Vec::new();
    for record in nodes.iter().flatten() {
        let value = match *record {
            Record::Empty => nodes.len(),
            Record::Node(node) => node,
            Record::Data(at) => nodes.len() + SEPARATOR + at,
        };
        file.extend(&(value as u32).to_be_bytes()[1..]);
    }
    file.extend([0; SEPARATOR]);
    file.extend(data);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    metadata(&mut file, nodes.len() as u32);
    file
}

fn metadata(out: &mut Vec<u8>, nodes: u32) {
    map(out, 9);
    text(out, "node_count");
    // Type 6: unsigned, 32 bits.
    out.push(0xc4);
    out.extend(nodes.to_be_bytes());
    for (name, value) in [
        ("record_size", RECORD_BITS),
        ("ip_version", 4),
        ("binary_format_major_version", 2),
        ("binary_format_minor_version", 0),
    ] {
        text(out, name);
        // Type 5: unsigned, 16 bits.
        out.push(0xa2);
        out.extend(value.to_be_bytes());
    }
    text(out, "database_type");
    text(out, "Test-Country");
    text(out, "languages");
    // Extended type 11: an array, empty.
    out.extend([0x00, 0x04]);
    text(out, "build_epoch");
    // Extended type 9: unsigned, 64 bits; one byte of it.
    out.extend([0x01, 0x02, 0x01]);
    text(out, "description");
    map(out, 0);
}

/// The beginning of a map with fewer than 29 entries: type 7.
fn map(out: &mut Vec<u8>, entries: u8) {
    out.push(0xe0 | entries);
}

/// A string of fewer than 29 bytes: type 2.
fn text(out: &mut Vec<u8>, value: &str) {
    out.push(0x40 | value.len() as u8);
    out.extend(value.bytes());
}
