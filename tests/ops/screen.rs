//! The live screen of `rookery ops top` without a terminal: what keys do, and that it is drawn in
//! any size.

use std::sync::Arc;

use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use rookery::{
    ops::{overview::Overview, problems::problems},
    routes::ops::{hot::HotApps, restarts::Restarts},
    terminal::{
        text::{clean, table},
        top::{
            Listed, Page, Picture, Wanted, draw,
            screen::{Effect, Screen},
        },
    },
};
use rookery_actors::observe::hot::{Measure, Window};
use serde_json::json;

fn hot(slugs: &[&str]) -> Listed {
    let items: Vec<_> = slugs
        .iter()
        .map(|slug| {
            json!({
                "id": format!("app_{slug}"), "slug": slug, "state": "live", "queued": 3,
                "followers": 0, "rows": 10, "resident_bytes": 2048, "idle_ms": 0, "crashes": 0,
                "messages_per_second": 12.0, "wait_per_second": 0.5, "bytes_per_second": 9.0,
                "errors_per_second": 0.0,
            })
        })
        .collect();
    let hot: HotApps = serde_json::from_value(json!({"items": items})).unwrap();
    Listed::Hot(hot)
}

fn crashes() -> Listed {
    let crash = json!({
        "number": 7, "at": "2026-01-31T12:00:00.000Z", "app": "app_a", "subject": "a",
        "cause": "boom\u{1b}[2J", "decision": "quarantine", "crashes": 7,
    });
    let page: Restarts =
        serde_json::from_value(json!({"items": [crash], "next": null, "held": []})).unwrap();
    Listed::Restarts(page)
}

fn picture(screen: &Screen, listed: Listed) -> Arc<Picture> {
    let mut overview = Overview::default();
    overview.apps.quarantined = 1;
    overview.writer.ok = true;
    overview.problems = problems(&overview);
    Arc::new(Picture { wanted: screen.wanted.clone(), overview, listed })
}

fn screen() -> Screen {
    let wanted = Wanted::busiest(Measure::Messages, Window::TenSeconds);
    let mut screen = Screen::new("http://127.0.0.1:8081", wanted);
    screen.look(Ok(picture(&screen, hot(&["a", "b", "c"]))));
    screen
}

fn press(screen: &mut Screen, code: KeyCode) -> Effect {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(width).max(1));
    lines.map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
}

#[test]
fn the_keys_choose_an_app_look_at_it_and_come_back() {
    let mut screen = screen();
    press(&mut screen, KeyCode::Down);
    press(&mut screen, KeyCode::Char('j'));
    press(&mut screen, KeyCode::PageDown);
    assert_eq!(screen.rows.selected(), Some(2));
    press(&mut screen, KeyCode::Home);
    press(&mut screen, KeyCode::Down);
    assert_eq!(press(&mut screen, KeyCode::Enter), Effect::Ask);
    assert_eq!(screen.wanted.page, Page::App("app_b".to_owned()));
    assert!(!screen.shows_page(), "nothing of that app is known yet");
    assert_eq!(press(&mut screen, KeyCode::Enter), Effect::Nothing);
    assert_eq!(press(&mut screen, KeyCode::Esc), Effect::Ask);
    assert_eq!((screen.wanted.page.clone(), screen.rows.selected()), (Page::Busiest, Some(1)));
    assert_eq!(press(&mut screen, KeyCode::Esc), Effect::Nothing);
    assert_eq!(press(&mut screen, KeyCode::Char('q')), Effect::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(interrupt), Effect::Quit);
}

#[test]
fn the_keys_say_what_makes_an_app_busy_and_over_which_time() {
    let mut screen = screen();
    for (key, by) in [('w', Measure::Wait), ('b', Measure::Bytes), ('e', Measure::Errors)] {
        assert_eq!(press(&mut screen, KeyCode::Char(key)), Effect::Ask);
        assert_eq!(screen.wanted.by, by);
    }
    press(&mut screen, KeyCode::Char('3'));
    assert_eq!(screen.wanted.path(), "/ops/api/hot?by=errors&window=15m");
}

#[test]
fn an_answer_to_an_older_question_is_not_shown() {
    let mut screen = screen();
    let old = picture(&screen, hot(&["z"]));
    press(&mut screen, KeyCode::Char('w'));
    screen.look(Ok(old));
    assert!(drawn(&mut screen, 100, 30).contains("a  "), "the picture before stays meanwhile");
    screen.look(Ok(picture(&screen, hot(&["y"]))));
    assert!(drawn(&mut screen, 100, 30).contains("y  "));
}

#[test]
fn a_held_picture_stays_until_it_is_let_go() {
    let mut screen = screen();
    press(&mut screen, KeyCode::Char(' '));
    screen.look(Ok(picture(&screen, hot(&["new-app"]))));
    let text = drawn(&mut screen, 100, 30);
    assert!(text.contains("HELD") && !text.contains("new-app"), "{text}");
    press(&mut screen, KeyCode::Char(' '));
    screen.look(Ok(picture(&screen, hot(&["new-app"]))));
    assert!(drawn(&mut screen, 100, 30).contains("new-app"));
}

#[test]
fn a_silent_server_is_told_and_the_last_picture_stays() {
    let mut screen = screen();
    screen.look(Err("no server answers at http://127.0.0.1:8081".to_owned()));
    let text = drawn(&mut screen, 100, 30);
    assert!(text.contains("no server answers at http://127.0.0.1:8081; trying again"), "{text}");
    assert!(text.contains("quarantined 1"), "{text}");
}

#[test]
fn every_page_is_drawn_in_any_size() {
    let mut screen = screen();
    let pages = [hot(&["a"]), crashes(), hot(&[])];
    for listed in pages {
        screen.wanted.page = match listed {
            Listed::Restarts(_) => Page::Restarts,
            _ => Page::Busiest,
        };
        screen.look(Ok(picture(&screen, listed)));
        for (width, height) in [(200, 60), (80, 24), (40, 12), (10, 3), (1, 1)] {
            for help in [false, true] {
                screen.help = help;
                drawn(&mut screen, width, height);
            }
        }
    }
}

#[test]
fn no_figure_is_cut_off_in_a_usual_terminal() {
    let mut screen = screen();
    let text = drawn(&mut screen, 80, 24);
    for figure in
        ["quarantined 1", "crashes 0", "wait p99 –", "handling p99 –", "WAL 0 B", "loop lag"]
    {
        assert!(text.contains(figure), "{figure}:\n{text}");
    }
    for part in ["Messages/s, 60 s", "Errors/s", "q quit"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("http:"), "half an address says nothing:\n{text}");
    assert!(drawn(&mut screen, 120, 40).contains("q quit   http://127.0.0.1:8081"));
}

#[test]
fn what_a_crash_said_cannot_act_on_the_terminal() {
    assert_eq!(clean("boom\u{1b}[2J\n\u{202e}x"), "boom [2J  x");
    let text = table(&["Cause", "Then"], &[vec!["a\tb\r".to_owned(), "x".repeat(500)]]);
    assert_eq!(text.lines().next(), Some("CAUSE  THEN"));
    assert!(text.starts_with("CAUSE  THEN\na b ") && text.ends_with("x…\n"), "{text}");
    let mut screen = screen();
    press(&mut screen, KeyCode::Char('r'));
    screen.look(Ok(picture(&screen, crashes())));
    let text = drawn(&mut screen, 120, 30);
    assert!(text.contains("boom [2J") && text.contains("Held back none"), "{text}");
}
