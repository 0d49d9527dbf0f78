//! `nestegg lsp`: a language server for editors.
//!
//! # Input
//! The Language Server Protocol on standard input: rule files (`*.rules`) and kernels (`*.knl`), as they are being written.
//! # Output
//! The protocol on standard output: what is wrong, as one types; of rule files also where a name or a variable is defined, and what a name means.
//! # Method
//! Messages are answered one after another. Each change checks the files of its folder anew, those that are open as they are in the editor; that is
//! [`workspace`]'s. [`words`] finds the word under the cursor, [`place`] turns bytes into positions of editors.
//! # Not done
//! Kernels have diagnostics only.

mod place;
mod words;
mod workspace;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{GotoDefinition, HoverRequest, Request as _};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, GotoDefinitionParams,
    HoverParams, HoverProviderCapability, OneOf, PublishDiagnosticsParams, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::workspace::Workspace;
use crate::exit::ExitStatus;
use crate::terminal::Failure;

/// Why the conversation ends early.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the editor does not speak as expected: {0}")]
#[diagnostic(
    code(nestegg::protocol),
    help("this command talks with an editor by the Language Server Protocol; start it from one")
)]
struct Broken(String);

pub fn run() -> Result<ExitStatus, Failure> {
    let (connection, threads) = Connection::stdio();
    talk(&connection).map_err(|error| Failure::bad_input(Broken(error)))?;
    // The writer ends when nobody can write any more.
    drop(connection);
    threads.join().map_err(|error| Failure::bad_input(Broken(error.to_string())))?;
    Ok(ExitStatus::Done)
}

/// What this server can do.
fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        definition_provider: Some(OneOf::Left(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        ..ServerCapabilities::default()
    }
}

/// The whole conversation, up to the editor's farewell.
fn talk(connection: &Connection) -> Result<(), String> {
    let capabilities = serde_json::to_value(capabilities()).map_err(|error| error.to_string())?;
    connection.initialize(capabilities).map_err(|error| error.to_string())?;
    let mut workspace = Workspace::default();
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                    return Ok(());
                }
                send(connection, answer(&workspace, request))?;
            }
            Message::Notification(notification) => {
                for published in note(&mut workspace, notification) {
                    let method = PublishDiagnostics::METHOD.to_owned();
                    send(connection, Notification::new(method, published))?;
                }
            }
            Message::Response(_) => {}
        }
    }
    Ok(())
}

fn send(connection: &Connection, message: impl Into<Message>) -> Result<(), String> {
    connection.sender.send(message.into()).map_err(|error| error.to_string())
}

fn answer(workspace: &Workspace, request: Request) -> Response {
    let id = request.id.clone();
    match request.method.as_str() {
        GotoDefinition::METHOD => respond(request, |params: GotoDefinitionParams| {
            let at = params.text_document_position_params;
            workspace.definition(&at.text_document.uri, at.position)
        }),
        HoverRequest::METHOD => respond(request, |params: HoverParams| {
            let at = params.text_document_position_params;
            workspace.hover(&at.text_document.uri, at.position)
        }),
        method => Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("`{method}` is not known here")),
    }
}

fn respond<P: DeserializeOwned, R: Serialize>(request: Request, result: impl FnOnce(P) -> R) -> Response {
    match serde_json::from_value(request.params) {
        Ok(params) => Response::new_ok(request.id, result(params)),
        Err(error) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}

/// Takes note of what the editor did; answers what is wrong now in which files. Notes that say nothing are dropped, as the protocol asks.
fn note(workspace: &mut Workspace, notification: Notification) -> Vec<PublishDiagnosticsParams> {
    let Notification { method, params } = notification;
    match method.as_str() {
        DidOpenTextDocument::METHOD => {
            let Ok(DidOpenTextDocumentParams { text_document }) = serde_json::from_value(params) else {
                return Vec::new();
            };
            workspace.set(text_document.uri, text_document.text)
        }
        DidChangeTextDocument::METHOD => {
            let Ok(DidChangeTextDocumentParams { text_document, content_changes }) = serde_json::from_value(params)
            else {
                return Vec::new();
            };
            // Each change is the whole text.
            let Some(last) = content_changes.into_iter().next_back() else { return Vec::new() };
            workspace.set(text_document.uri, last.text)
        }
        DidCloseTextDocument::METHOD => {
            let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params) else {
                return Vec::new();
            };
            workspace.close(&text_document.uri)
        }
        _ => Vec::new(),
    }
}
