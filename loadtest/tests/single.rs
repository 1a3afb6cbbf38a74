//! Requests one after the other, to a server that leaves one without an answer.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use rookery_load::{client::Endpoint, load::one_by_one};

fn hear(from: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        from.read_exact(&mut byte).expect("a request");
        request.push(byte[0]);
    }
}

fn answer(to: &mut TcpStream, status: &str) {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    to.write_all(head.as_bytes()).expect("an open connection");
}

#[test]
fn one_without_an_answer_counts_as_slow_and_the_next_is_sent_all_the_same() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().expect("a connection");
        hear(&mut first);
        answer(&mut first, "200 OK");
        hear(&mut first);
        let (mut second, _) = listener.accept().expect("another connection");
        for status in ["503 Service Unavailable", "200 OK"] {
            hear(&mut second);
            answer(&mut second, status);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let recording = runtime.expect("a runtime").block_on(async {
        let endpoint = Endpoint::resolve(&url).await.expect("an address");
        let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec();
        let requests = std::iter::repeat_n(request, 4);
        one_by_one(&endpoint, requests, Duration::from_millis(300)).await
    });
    let recorder = recording.expect("a connection").recorder;
    server.join().expect("the server");
    assert_eq!((recorder.sent, recorder.ok), (4, 2));
    let expected = [("http_503".to_owned(), 1), ("timeout".to_owned(), 1)];
    assert_eq!(recorder.errors, expected.into());
    assert_eq!(recorder.service.len(), 3, "a refusal is no latency");
    assert!(recorder.service.max() >= 300_000, "{}", recorder.service.max());
}
