//! Chromium without a window, for tests of what a reader sees.
//!
//! `./setup --tests` installs it where there is apt. Where there is none, tests say so and pass; in continuous integration on a machine with apt they fail.

#![allow(clippy::unwrap_used, clippy::print_stderr, dead_code)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// What browsers are called; `setup` looks for the same names.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What is expected to happen at once may take so long on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The browser, if there is one: `$CHROMIUM`, or what has one of its names.
pub fn chromium() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    let find = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists());
    let found = NAMES.into_iter().find_map(find);
    if found.is_none() {
        let is_expected = std::env::var_os("CI").is_some() && find("apt-get").is_some();
        assert!(!is_expected, "there is no Chromium: `./setup --tests` installs it");
        eprintln!(
            "there is no Chromium, so nothing was seen in a browser; `./setup --tests` installs it where there is apt"
        );
    }
    found
}

/// Runs Chromium on a page that needs no time but its own; answers what it prints.
pub fn browse(chromium: &Path, profile: &Path, arguments: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", profile.display());
    let output = Command::new(chromium)
        .args(COMMON)
        .args(["--virtual-time-budget=4000", &profile])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const COMMON: [&str; 4] = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];

/// Where pictures go, below `target`.
pub fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A page that stays open, in a browser of its own, asked by the DevTools protocol.
pub struct Tab {
    browser: Child,
    socket: WebSocket<TcpStream>,
    n_asked: u64,
}

impl Tab {
    /// Opens an address in a window of that size.
    pub fn open(chromium: &Path, profile: &Path, size: &str, address: &str) -> Self {
        let browser = Command::new(chromium)
            .args(COMMON)
            .args(["--remote-debugging-port=0", &format!("--window-size={size}")])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(address)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port = wait("the browser says where it listens", || {
            let text = fs::read_to_string(profile.join("DevToolsActivePort")).ok()?;
            text.lines().next()?.parse::<u16>().ok()
        });
        let connect = || TcpStream::connect(("127.0.0.1", port)).ok();
        let place = wait("the browser has the page", || {
            let mut stream = connect()?;
            stream.write_all(b"GET /json/list HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
            // The browser leaves the connection open, so the answer is as long as it says.
            let mut lines = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                lines.read_line(&mut line).ok()?;
                match line.trim().to_ascii_lowercase().strip_prefix("content-length:") {
                    Some(number) => length = number.trim().parse().ok()?,
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).ok()?;
            let targets: Value = serde_json::from_slice(&body).ok()?;
            let page = targets.as_array()?.iter().find(|target| target["type"] == "page")?;
            Some(page["webSocketDebuggerUrl"].as_str()?.to_owned())
        });
        let stream = connect().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(place, stream).unwrap();
        Self { browser, socket, n_asked: 0 }
    }

    /// Sends a command; answers its result.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.n_asked += 1;
        let text = json!({ "id": self.n_asked, "method": method, "params": parameters }).to_string();
        self.socket.send(Message::text(text)).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == self.n_asked {
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.ask("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// Waits until an expression on the page is true.
    pub fn wait_until(&mut self, expression: &str) {
        let guarded = format!("(() => {{ try {{ return !!({expression}); }} catch {{ return false; }} }})()");
        let begin = Instant::now();
        while self.value(&guarded) != json!(true) {
            let is_early = begin.elapsed() < PATIENCE;
            assert!(is_early, "never true: {expression}; the page says: {}", self.value("document.body.innerText"));
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Takes a picture into a file among the [`pictures`]; answers its bytes.
    pub fn picture(&mut self, name: &str) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
        fs::write(pictures().join(name), &bytes).unwrap();
        bytes
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        // The browser ends its own processes when it is told to.
        let close = json!({ "id": 0, "method": "Browser.close", "params": {} }).to_string();
        let _ = self.socket.send(Message::text(close));
        let begin = Instant::now();
        while matches!(self.browser.try_wait(), Ok(None)) && begin.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

/// Waits until something is there.
pub fn wait<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = get() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
