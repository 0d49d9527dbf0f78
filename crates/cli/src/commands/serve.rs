//! `nestegg serve`: the page of `--report html`, live in a browser.
//!
//! # Input
//! A folder with kernels (`*.knl`, `*.json`) and rule files (`*.rules`), which may change at any time, in one's own editor or on the page.
//! # Output
//! HTTP on the loopback address; its address on standard output, once it answers.
//! # Method
//! A [`shell`] around the page asks several times a second whether what the page was made of has changed ([`folder`] reads it, and a hash of
//! all of it says so); if it has, a [`story`] is made of it, once, however many ask. A thread answers each request.
//!
//! Nothing but the reader's own browser gets an answer, and that only from the shell: the `Host` of a request must be the loopback address, or a
//! page elsewhere could read the folder under a name of its own that leads here (DNS rebinding); an `Origin` must be our own, or such a page could write; and files
//! are named, never pathed: a name that the list of the folder does not have is no file.

mod folder;
mod shell;
mod story;

use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;

use serde_json::json;
use tiny_http::{Header, Method, Request, Response, Server};

use self::folder::{Folder, Save};
use self::story::Stories;
use crate::args::ServeArgs;
use crate::exit::ExitStatus;
use crate::terminal::{self, Failure};

/// Longer files are not written.
const MAX_BYTES: u64 = 16 << 20;

/// What the browser may do with anything that comes from here: run what is in it, and ask here. No other page can frame it.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// What went wrong before anything is answered.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum ServeError {
    /// There is no such folder.
    #[error("`{path}` is not a folder")]
    #[diagnostic(code(nestegg::no_folder), help("name a folder with kernels and rule files"))]
    NoFolder {
        /// As the user wrote it.
        path: String,
    },
    /// Somebody else has the port.
    #[error("cannot answer on port {port}: {reason}")]
    #[diagnostic(code(nestegg::no_port), help("another program may use it; without `--port`, a free one is taken"))]
    NoPort {
        /// The port.
        port: u16,
        /// What the system says.
        reason: String,
    },
}

pub fn run(args: ServeArgs) -> Result<ExitStatus, Failure> {
    if !args.folder.is_dir() {
        return Err(ServeError::NoFolder { path: args.folder.display().to_string() }.into());
    }
    let folder = Folder::open(&args.folder)?;
    let stories = Stories::new(args.strategy)?;
    let server = Server::http((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|error| ServeError::NoPort { port: args.port, reason: error.to_string() })?;
    let port = server.server_addr().to_ip().map_or(args.port, |address| address.port());
    let name = args.folder.display().to_string();
    terminal::print(&format!("{name} is at http://{}:{port}/ until you interrupt this\n", Ipv4Addr::LOCALHOST))?;
    let site = Arc::new(Site { folder, stories, name, port });
    for request in server.incoming_requests() {
        let site = Arc::clone(&site);
        thread::spawn(move || site.answer(request));
    }
    Ok(ExitStatus::Done)
}

/// Everything that an answer needs.
struct Site {
    folder: Folder,
    stories: Stories,
    /// The folder as the user wrote it.
    name: String,
    port: u16,
}

/// What is answered.
struct Answer {
    status: u16,
    kind: &'static str,
    /// The version of a file.
    tag: Option<String>,
    body: String,
}

impl Answer {
    fn html(body: String) -> Self {
        Self { status: 200, kind: "text/html; charset=utf-8", tag: None, body }
    }

    fn json(body: &serde_json::Value) -> Self {
        Self { status: 200, kind: "application/json", tag: None, body: body.to_string() }
    }

    fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", tag: None, body: body.into() }
    }
}

impl Site {
    /// Answers a request. That nobody waits for it any more is no error.
    fn answer(&self, mut request: Request) {
        let Answer { status, kind, tag, body } = match self.refusal(&request) {
            Some(refusal) => refusal,
            None => self.result(&mut request),
        };
        let mut response = Response::from_string(body).with_status_code(status);
        let tag = tag.map(|tag| format!("\"{tag}\""));
        let headers = [
            ("Content-Type", Some(kind)),
            ("Content-Security-Policy", Some(POLICY)),
            ("X-Content-Type-Options", Some("nosniff")),
            ("Cache-Control", Some("no-store")),
            ("ETag", tag.as_deref()),
        ];
        for (name, value) in headers {
            if let Some(Ok(header)) = value.map(|value| Header::from_bytes(name, value)) {
                response.add_header(header);
            }
        }
        let _ = request.respond(response);
    }

    /// Why a request gets no answer: it does not come from here.
    fn refusal(&self, request: &Request) -> Option<Answer> {
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_here = header(request, "Host").is_some_and(|host| own.iter().any(|own| own == host));
        let is_ours = header(request, "Origin")
            .is_none_or(|origin| own.iter().any(|own| origin.strip_prefix("http://") == Some(own)));
        match (is_here, is_ours) {
            (false, _) => Some(Answer::text(421, "this server answers to 127.0.0.1 and localhost alone\n")),
            (_, false) => Some(Answer::text(403, "pages from elsewhere have no business here\n")),
            _ => None,
        }
    }

    fn result(&self, request: &mut Request) -> Answer {
        let url = request.url().to_owned();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let asked = |key: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == key).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        match (request.method(), path) {
            (Method::Get, "/") => Answer::html(shell::page(&self.name, self.stories.level())),
            (Method::Get, "/state") => Answer::json(&self.state(&asked("kernel"), &asked("level"), &asked("file"))),
            (Method::Get, "/result") => self.with_input(&asked("kernel"), &asked("level"), |story| {
                Answer::json(&serde_json::to_value(&story.told).expect("text and numbers"))
            }),
            (Method::Get, "/page") => self.with_input(&asked("kernel"), &asked("level"), |story| match &story.page {
                Some(page) => Answer::html(page.clone()),
                None => Answer::text(404, "there is no page of what is wrong\n"),
            }),
            (Method::Get, "/file") => match self.folder.read(&asked("name")) {
                Some(Ok(file)) => Answer { tag: Some(file.tag()), ..Answer::text(200, &*file.source.text) },
                Some(Err(error)) => Answer::text(500, format!("{error}\n")),
                None => self.no_file(&asked("name")),
            },
            (Method::Put, "/file") => self.write(&asked("name"), request),
            (Method::Get | Method::Put, _) => Answer::text(404, "there is nothing here\n"),
            _ => Answer::text(405, "this server understands GET and PUT\n"),
        }
    }

    fn no_file(&self, name: &str) -> Answer {
        Answer::text(404, format!("there is no kernel and no rule file `{name}` in `{}`\n", self.name))
    }

    /// The files, and the versions of what is shown.
    fn state(&self, kernel: &str, level: &str, file: &str) -> serde_json::Value {
        let names = self.folder.names();
        let rules = self.folder.rules();
        let input = self.folder.read(kernel).map(|kernel| self.stories.version(&kernel, level, &rules));
        let file = self.folder.read(file).and_then(Result::ok).map(|file| file.tag());
        json!({ "files": names, "version": input, "file": file })
    }

    fn with_input(&self, kernel: &str, level: &str, answer: impl FnOnce(&story::Story) -> Answer) -> Answer {
        match self.folder.read(kernel) {
            Some(read) => answer(&self.stories.of(&read, level, &self.folder.rules())),
            None => self.no_file(kernel),
        }
    }

    /// Writes a file, if it still is what the writer has seen.
    fn write(&self, name: &str, request: &mut Request) -> Answer {
        let seen = header(request, "If-Match").map(|tag| tag.trim_matches('"').to_owned());
        let Some(seen) = seen else {
            return Answer::text(428, "say by `If-Match` which version of the file this replaces\n");
        };
        let mut body = Vec::new();
        match request.as_reader().take(MAX_BYTES + 1).read_to_end(&mut body) {
            Ok(n) if n as u64 > MAX_BYTES => return Answer::text(413, "this is too long\n"),
            Ok(_) => {}
            Err(error) => return Answer::text(400, format!("{error}\n")),
        }
        let Ok(text) = String::from_utf8(body) else { return Answer::text(400, "kernels and rules are UTF-8 text\n") };
        match self.folder.save(name, &seen, text) {
            Some(Ok(Save::Written(tag))) => Answer { tag: Some(tag), ..Answer::text(200, "") },
            Some(Ok(Save::Changed)) => Answer::text(412, "the file has been changed by somebody else\n"),
            Some(Err(error)) => Answer::text(500, format!("{error}\n")),
            None => self.no_file(name),
        }
    }
}

/// The value of a header that stands there once.
fn header<'a>(request: &'a Request, name: &'static str) -> Option<&'a str> {
    let mut found = request.headers().iter().filter(|header| header.field.equiv(name));
    let first = found.next()?;
    found.next().is_none().then(|| first.value.as_str())
}
