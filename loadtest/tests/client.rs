//! Reading answers from bytes, however they arrive.

use clap::Parser as _;
use rookery_load::{
    cli::{Cli, duration},
    client::{
        ClientError,
        wire::{BodyLength, ChunkDecoder, header, parse_head},
    },
};

#[test]
fn a_head_is_read_once_it_is_complete() {
    let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nlocation: /x\r\n\r\nhello";
    for end in 0..whole.len() - 5 {
        assert!(parse_head(&whole[..end]).expect("no error").is_none(), "{end}");
    }
    let head = parse_head(whole).expect("no error").expect("complete");
    assert_eq!((head.status, head.body, head.closes), (201, BodyLength::Known(5), false));
    assert_eq!(&whole[head.bytes..], b"hello");
    assert_eq!(header(&whole[..head.bytes], "Location"), Some("/x"));
    assert_eq!(header(&whole[..head.bytes], "etag"), None);
}

#[test]
fn the_end_of_a_body_follows_the_rules_of_the_protocol() {
    let length = |text: &str| parse_head(text.as_bytes()).expect("no error").expect("complete");
    let of = |fields: &str| length(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"));
    assert_eq!(of("transfer-encoding: chunked\r\n").body, BodyLength::Chunked);
    assert_eq!(of("").body, BodyLength::UntilClosed);
    assert!(of("").closes, "there is no other end");
    assert!(of("connection: close\r\ncontent-length: 0\r\n").closes);
    assert_eq!(
        length("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n").body,
        BodyLength::Known(0)
    );
    assert_eq!(length("HTTP/1.1 204 No Content\r\n\r\n").body, BodyLength::Known(0));
}

#[test]
fn what_is_no_http_is_an_error_and_not_a_wait() {
    for bytes in [&b"SSH-2.0-OpenSSH\r\n\r\n"[..], b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
    {
        assert!(matches!(parse_head(bytes), Err(ClientError::Protocol(_))));
    }
    let endless = [b"HTTP/1.1 200 OK\r\na: ".as_slice(), &vec![b'x'; 70_000]].concat();
    assert!(matches!(parse_head(&endless), Err(ClientError::Protocol(_))));
}

#[test]
fn chunks_are_put_together_in_whatever_pieces_they_come() {
    let wire =
        b"4\r\nWiki\r\n6;note=x\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nDigest: y\r\n\r\n";
    for size in 1..wire.len() {
        let (mut decoder, mut out, mut pending) = (ChunkDecoder::default(), Vec::new(), Vec::new());
        for piece in wire.chunks(size) {
            pending.extend_from_slice(piece);
            let used = decoder.decode(&pending, &mut out).expect("well formed");
            pending.drain(..used);
        }
        assert!(decoder.is_done() && pending.is_empty(), "pieces of {size}");
        assert_eq!(out, b"Wikipedia in \r\n\r\nchunks.");
    }
}

#[test]
fn a_malformed_chunk_is_an_error() {
    for wire in [&b"zz\r\n"[..], b"4\r\nWikiX\r\n", b"ffffffffff\r\n"] {
        assert!(ChunkDecoder::default().decode(wire, &mut Vec::new()).is_err(), "{wire:?}");
    }
}

#[test]
fn times_are_written_with_their_unit() {
    assert_eq!(duration("250ms").expect("a time").as_millis(), 250);
    assert_eq!(duration("1.5s").expect("a time").as_millis(), 1500);
    assert_eq!(duration("2m").expect("a time").as_secs(), 120);
    for wrong in ["", "10", "s", "-1s", "1h", "1e9m", "999999999999999999999999m"] {
        assert!(duration(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_rate_that_no_timetable_has_is_refused_before_anything_is_sent() {
    for (command, option) in
        [("noisy", "--quiet-rate"), ("noisy", "--flood-rate"), ("suite", "--moderate-rate")]
    {
        for rate in ["0", "-1", "NaN", "inf"] {
            let given = format!("{option}={rate}");
            let refused = Cli::try_parse_from(["rookery-load", command, &given]).unwrap_err();
            assert!(refused.to_string().contains("requests a second"), "{refused}");
        }
    }
    assert!(Cli::try_parse_from(["rookery-load", "noisy", "--flood-connections=0"]).is_err());
}
