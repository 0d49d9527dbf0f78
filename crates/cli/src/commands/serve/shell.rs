//! The page around the page: which kernel and level, what came of it, the editor, what is wrong.
//!
//! Its script (`shell.js`) asks the server what has changed, and shows the page of the result in a frame, so that it is the very page of `--report html`.

use maud::{DOCTYPE, PreEscaped, html};

const STYLE: &str = include_str!("shell.css");
const SCRIPT: &str = include_str!("shell.js");

/// The shell of a folder, at the level of the command line.
pub(super) fn page(folder: &str, level: &str) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (folder) " · nestegg" }
                link rel="icon" href="data:,";
                style { (PreEscaped(nestegg_lab::page::STYLE)) (PreEscaped(STYLE)) }
            }
            body.shell {
                header.bar {
                    p.mark { "nestegg" }
                    label { "Kernel " select #kernel {} }
                    label { "Level " select #level { option value="" { (level) } } }
                    p #told role="status" { "…" }
                    button #show-editor type="button" aria-expanded="true" aria-controls="editor" { "Editor" }
                }
                main.panes {
                    section #editor aria-label="Editor" {
                        div.tools {
                            label { "File " select #file {} }
                            button #save type="button" disabled { "Save" }
                            span #saved role="status" {}
                        }
                        div.sheet {
                            pre #numbers aria-hidden="true" {}
                            textarea #text aria-label="Text of the file" spellcheck="false" autocomplete="off" wrap="off" {}
                        }
                        ol #problems aria-label="Errors and warnings" {}
                    }
                    section #result aria-label="Result" {
                        p #nothing { "There is no kernel in " code { (folder) } ": write one, in a file that ends in " code { ".knl" } "." }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}
