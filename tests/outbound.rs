//! Requests to addresses that strangers name, below HTTP of our own: what a name resolves to is
//! judged by the connection itself.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rookery::outbound::egress::{Egress, Lookup, trusted_origin};
use tokio::net::TcpListener;
use url::Url;

/// Names that resolve to these addresses, and how often they were asked for.
fn names(addresses: &[IpAddr]) -> (Lookup, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let addresses: Vec<_> = addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
    let count = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    });
    (lookup, asked)
}

#[tokio::test]
async fn a_name_that_resolves_to_this_machine_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url: Url = format!("https://push.example.net:{port}/x").parse().unwrap();
    let here: IpAddr = [127, 0, 0, 1].into();
    for addresses in [vec![here], vec!["93.184.215.14".parse().unwrap(), here]] {
        let (lookup, asked) = names(&addresses);
        let egress = Egress::new(Vec::new(), lookup).unwrap();
        let client = egress.client("endpoint", &url).unwrap();
        let failed = client.post(url.clone()).send().await.unwrap_err();
        assert!(failed.is_connect(), "{failed:?}");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
    // The connection would be in the listener's queue by now.
    let listener = listener.into_std().unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn only_a_trusted_origin_may_be_private_and_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (lookup, _) = names(&[]);
    let egress = Egress::new(vec![trusted_origin(&origin).unwrap()], lookup).unwrap();
    let url = |text: &str| text.parse::<Url>().unwrap();
    assert!(egress.client("endpoint", &url(&format!("{origin}/x"))).is_ok());
    assert!(egress.client("endpoint", &url("http://127.0.0.1:1/x")).is_err());
    assert!(egress.client("endpoint", &url(&origin.replace("//", "//a:b@"))).is_err());
}

#[test]
fn a_trusted_origin_is_an_origin_and_nothing_more() {
    for good in ["https://push.intranet", "https://push.example.org:8443", "http://127.0.0.1:99"] {
        assert!(trusted_origin(good).is_some(), "{good}");
    }
    for bad in ["", "push", "http://push.intranet", "https://a/", "https://a/b", "https://a?b"] {
        assert!(trusted_origin(bad).is_none(), "{bad}");
    }
}
