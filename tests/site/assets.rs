//! Style and scripts: what is vendored is what the packages ship, and pages stay small.

use std::{fs, path::Path};

use sha2::{Digest as _, Sha256};

use super::GET;
use crate::harness::{Answer, TestServer};

#[test]
fn vendored_files_are_those_of_their_packages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/vendor");
    let table = fs::read_to_string(folder.join("README.md")).expect("the list");
    let mut files = 0;
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let content = fs::read(folder.join(cells[1])).expect("a file of the list");
        let digest: String = Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(digest, cells[5], "{}", cells[1]);
        let licence = folder.join(cells[1]).with_file_name("LICENSE");
        assert!(licence.is_file(), "{}", licence.display());
        files += 1;
    }
    assert_eq!(files, 3);
}

#[tokio::test]
async fn files_are_compressed_kept_and_named_by_what_they_hold() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let page = server.see(&ada, "/usage").await;
    let mut packed = page.text.len();
    let names: Vec<&str> =
        page.text.split('"').filter(|part| part.starts_with("/static/")).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in names {
        let plain = server.get(name).await;
        assert_eq!(plain.status, 200, "{name}");
        assert_eq!(plain.header("cache-control"), "public, max-age=31536000, immutable");
        assert!(!plain.headers.contains_key("content-encoding"));
        if plain.text.len() < 1_024 {
            // One packet either way.
            let asked = server.request(GET, name).header("accept-encoding", "gzip");
            assert_eq!(Answer::of(asked).await.text, plain.text, "{name}");
            packed += plain.text.len();
            continue;
        }
        let (gzip, bytes) = Answer::packed(server.request(GET, name)).await;
        packed += bytes;
        assert!(gzip.text == plain.text, "{name}");
        let refused = server.request(GET, name).header("accept-encoding", "gzip;q=0");
        let refused = refused.send().await.expect("an answer");
        assert!(!refused.headers().contains_key("content-encoding"));
    }
    assert!(packed < 100_000, "{packed} bytes");
    assert_eq!(server.get("/static/site-000000000000.css").await.status, 404);
}
