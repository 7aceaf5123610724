//! All approval rules together: what may run, what is asked about, and what may not.

use std::path::Path;

use crate::command::simple_commands;
use crate::rule::exactly;
use crate::subject::Subject;
use crate::{Rule, Workspace};

/// Approval rules. Deny beats ask, ask beats allow; where none is about a call, one that only reads is allowed and
/// any other is asked about.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Calls that run without a question.
    pub allow: Vec<Rule>,
    /// Calls that are asked about, even those that only read.
    pub ask: Vec<Rule>,
    /// Calls that do not run.
    pub deny: Vec<Rule>,
}

/// What the rules say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    /// For the reason.
    Ask(String),
    /// For the reason.
    Deny(String),
}

impl Rules {
    /// What holds for a call of `tool`.
    pub(crate) fn decide(&self, tool: &str, subject: &Subject, read_only: bool) -> Decision {
        let about = |rules: &[Rule]| rules.iter().find(|rule| rule.touches(tool, subject)).cloned();
        if let Some(rule) = about(&self.deny) {
            return Decision::Deny(format!("the approval rule `{rule}` denies this call"));
        }
        if let Some(rule) = about(&self.ask) {
            return Decision::Ask(format!("the approval rule `{rule}` asks about it"));
        }
        if read_only || self.allows(tool, subject) {
            return Decision::Allow;
        }
        let options: Vec<String> = suggested(tool, subject)
            .iter()
            .map(|rule| format!("--allow '{}'", rule.replace('\'', r"'\''")))
            .collect();
        Decision::Ask(format!("no approval rule allows it; {} would", options.join(" ")))
    }

    fn allows(&self, tool: &str, subject: &Subject) -> bool {
        let Subject::Command { line, .. } = subject else {
            return self.allow.iter().any(|rule| rule.covers(tool, subject));
        };
        match simple_commands(line) {
            Some(simple) => simple
                .iter()
                .all(|simple| self.allow.iter().any(|rule| rule.covers_command(simple))),
            // What such a line runs cannot be seen, so no rule with a pattern can have meant it, neither way.
            None => {
                let mut narrow = self.deny.iter().chain(&self.ask);
                self.allow.iter().any(|rule| rule.covers(tool, subject))
                    && !narrow.any(|rule| rule.has_pattern_for(tool))
            }
        }
    }

    /// Whether a rule keeps `read` or `search` from this file.
    pub(crate) fn denies_reading(&self, workspace: &Workspace, real: &Path) -> bool {
        if self.deny.is_empty() {
            return false;
        }
        let subject = Subject::at(workspace, real.to_owned(), real);
        self.deny
            .iter()
            .any(|rule| rule.touches("read", &subject) || rule.touches("search", &subject))
    }
}

/// The rules that would allow this call, and as little else as rules can.
fn suggested(tool: &str, subject: &Subject) -> Vec<String> {
    match subject {
        Subject::Path { real, inside, .. } => {
            let path = inside.as_ref().unwrap_or(real).display().to_string();
            vec![format!("{tool}({})", globset::escape(&path))]
        }
        Subject::Command { line, .. } => match simple_commands(line) {
            Some(simple) if !simple.is_empty() => {
                let mut rules: Vec<String> = simple
                    .iter()
                    .map(|simple| format!("{tool}({})", exactly(&simple.written)))
                    .collect();
                rules.dedup();
                rules
            }
            _ => vec![tool.to_owned()],
        },
        Subject::Other => vec![tool.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
        let parse = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        Rules { allow: parse(allow), ask: parse(ask), deny: parse(deny) }
    }

    fn command(line: &str) -> Subject {
        Subject::Command { line: line.into(), folder: "/w".into() }
    }

    fn path(real: &str) -> Subject {
        let real = PathBuf::from(real);
        let inside = real.strip_prefix("/w").map(Path::to_owned).ok();
        Subject::Path { said: real.clone(), said_inside: inside.clone(), real, inside }
    }

    fn word(decision: &Decision) -> &'static str {
        match decision {
            Decision::Allow => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        }
    }

    #[track_caller]
    fn check(rules: &Rules, tool: &str, subject: &Subject, expected: &str) {
        let decision = rules.decide(tool, subject, matches!(tool, "read" | "list" | "search"));
        assert_eq!(word(&decision), expected, "{tool} {subject:?}: {decision:?}");
    }

    #[test]
    fn deny_beats_ask_beats_allow() {
        let rules = rules(&["write"], &["write(docs/**)"], &["write(docs/law/*)"]);
        check(&rules, "write", &path("/w/src/a"), "allow");
        check(&rules, "write", &path("/w/docs/a"), "ask");
        check(&rules, "write", &path("/w/docs/law/a"), "deny");
        check(&rules, "edit", &path("/w/src/a"), "ask");
    }

    #[test]
    fn without_a_rule_reading_is_allowed_and_the_rest_asked_about() {
        let rules = Rules::default();
        check(&rules, "read", &path("/w/a"), "allow");
        check(&rules, "write", &path("/w/a"), "ask");
        check(&rules, "shell", &command("ls"), "ask");
        check(&rules, "github__issue", &Subject::Other, "ask");
        assert_eq!(rules.decide("github__issue", &Subject::Other, true), Decision::Allow);
    }

    #[test]
    fn a_compound_command_does_not_slip_through_a_prefix() {
        let rules = rules(&["shell(git status*)", "shell(tail *)"], &[], &[]);
        check(&rules, "shell", &command("git status --short"), "allow");
        check(&rules, "shell", &command("git status 2>&1 | tail -3"), "allow");
        for line in [
            "git status; rm -rf x",
            "git status && rm x",
            "git status | sh",
            "git status & rm x",
            "git status\nrm x",
            "git status $(rm x)",
            "git status `rm x`",
            "git status > ~/.bashrc",
            "git status <(rm x)",
            "git status \"$(rm x)\"",
            "GIT_PAGER=x git status",
            "git status || rm x",
            "git status #'\nrm x\n#'",
        ] {
            check(&rules, "shell", &command(line), "ask");
        }
    }

    #[test]
    fn a_denied_command_is_found_in_a_compound_one() {
        let rules = rules(&["shell"], &[], &["shell(rm *)"]);
        check(&rules, "shell", &command("ls; echo $HOME"), "ask");
        check(&rules, "shell", &command("ls"), "allow");
        for line in [
            "rm x",
            "ls; rm -rf x",
            "'rm' x",
            "r\\m x",
            "echo $(rm x)",
            "if true; then rm x; fi",
            "rm",
        ] {
            check(&rules, "shell", &command(line), "deny");
        }
    }

    #[test]
    fn a_line_that_is_uncertain_needs_the_whole_shell() {
        check(&rules(&["shell(*)"], &[], &[]), "shell", &command("echo $(date)"), "ask");
        check(&rules(&["shell"], &[], &[]), "shell", &command("echo $(date)"), "allow");
    }

    #[test]
    fn path_patterns_stay_where_they_say() {
        let rules =
            rules(&["write(src/*)", "write(/other/**)"], &[], &["write(**/.env)", "write(keys)"]);
        check(&rules, "write", &path("/w/src/a"), "allow");
        check(&rules, "write", &path("/w/src/deep/a"), "ask");
        check(&rules, "write", &path("/other/x/y"), "allow");
        check(&rules, "write", &path("/w/src/.env"), "deny");
        check(&rules, "write", &path("/w/src/.ENV"), "deny");
        check(&rules, "write", &path("/w/keys/deep/a"), "deny");
    }

    #[test]
    fn a_question_says_which_rule_would_allow_it() {
        let asked = |tool, subject| match Rules::default().decide(tool, &subject, false) {
            Decision::Ask(reason) => reason,
            other => panic!("{other:?}"),
        };
        let said = asked("shell", command("cargo test; ls *"));
        assert_eq!(
            said,
            r"no approval rule allows it; --allow 'shell(cargo test)' --allow 'shell(ls \*)' would"
        );
        let said = asked("write", path("/w/a[1].txt"));
        let rule = said.split('\'').nth(1).unwrap().to_owned();
        check(&rules(&[&rule], &[], &[]), "write", &path("/w/a[1].txt"), "allow");
        check(&rules(&[&rule], &[], &[]), "write", &path("/w/a1.txt"), "ask");
        assert!(asked("shell", command("echo $(x)")).contains("--allow 'shell' would"));
        assert!(asked("mcp__x", Subject::Other).contains("--allow 'mcp__x' would"));
    }
}
