//! Where in a body a type error happened. serde_json tells a line and a column; a developer
//! wants `rows[3].key`. Runs only after a refusal, on text that is known to be JSON.

use super::string_end;

enum Frame<'a> {
    Array(Option<usize>),
    Object(Option<&'a str>),
}

/// The byte at `line` and `column`, both as serde_json counts them.
pub(super) fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    start + column
}

/// The path of the value that a reader had reached at the byte `end`; empty for the outermost.
pub(super) fn reached(text: &str, end: usize) -> String {
    let end = end.min(text.len());
    let bytes = text.as_bytes();
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut awaits_key = false;
    let mut at = 0;
    while at < end {
        let byte = bytes[at];
        if let (Some(Frame::Array(index @ None)), false) =
            (frames.last_mut(), byte.is_ascii_whitespace() || byte == b']')
        {
            *index = Some(0);
        }
        let next = if byte == b'"' { string_end(bytes, at) } else { at + 1 };
        match byte {
            b'"' if awaits_key => {
                if let Some(Frame::Object(key)) = frames.last_mut() {
                    *key = text.get(at + 1..next - 1);
                }
                awaits_key = false;
            }
            b'{' => {
                frames.push(Frame::Object(None));
                awaits_key = true;
            }
            b'[' => frames.push(Frame::Array(None)),
            b'}' | b']' => {
                frames.pop();
                awaits_key = false;
            }
            b',' => match frames.last_mut() {
                Some(Frame::Array(Some(index))) => *index += 1,
                Some(Frame::Object(_)) => awaits_key = true,
                _ => {}
            },
            _ => {}
        }
        at = next;
    }
    render(&frames)
}

fn render(frames: &[Frame<'_>]) -> String {
    let mut path = String::new();
    for frame in frames {
        match frame {
            Frame::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Frame::Array(Some(index)) => path.push_str(&format!("[{index}]")),
            Frame::Object(None) | Frame::Array(None) => {}
        }
    }
    path
}
