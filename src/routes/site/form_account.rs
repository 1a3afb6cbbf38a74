//! For which account the forms of a page were made. A browser has one session, and pages of another
//! account may stand open beside it: so every form of a page carries the account that the page showed,
//! put in where pages are rendered, and `posted` takes no form for anybody else.

use rookery_actors::directory::SessionHolder;
use rookery_domain::{Result, id::HumanId};

use crate::state::State;

/// What the field of a form is called that holds it.
pub const FIELD: &str = "made_for";
/// The beginning of a form, and its end, as templates write it. What anybody typed is escaped and holds
/// neither.
const BEGINNING: &str = "<form ";
const END: &str = "</form>";

/// An account as a form names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormAccount {
    /// The account.
    pub human: HumanId,
    /// What people know it by: its address, or without one its id.
    pub who: String,
}

impl FormAccount {
    /// Who is signed in.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn of(state: &State, holder: SessionHolder) -> Result<Self> {
        let human = state.rooms.directory.human(holder.human)?;
        let who = human.and_then(|human| human.email.clone());
        Ok(Self { human: holder.human, who: who.unwrap_or_else(|| holder.human.to_string()) })
    }

    /// The account that a form names. The address comes with it: nobody is told that of an account by
    /// its id.
    #[must_use]
    pub fn sent(value: &str) -> Option<Self> {
        let (human, who) = value.split_once(' ')?;
        Some(Self { human: human.parse().ok()?, who: who.to_owned() })
    }

    /// The value of the field.
    #[must_use]
    pub fn value(&self) -> String {
        format!("{} {}", self.human, self.who)
    }

    /// A page, each of whose forms that are posted names the account.
    #[must_use]
    pub fn mark(&self, page: &str) -> String {
        let value = askama::filters::escape(self.value(), askama::filters::Html);
        let Ok(value) = value.map(|value| value.to_string());
        let field = format!("<input type=\"hidden\" name=\"{FIELD}\" value=\"{value}\">");
        let mut forms = page.split(BEGINNING);
        let mut marked = String::with_capacity(page.len() + 16 * field.len());
        marked.push_str(forms.next().unwrap_or_default());
        for form in forms {
            marked.push_str(BEGINNING);
            let is_posted = form.split('>').next().is_some_and(|tag| tag.contains("\"post\""));
            match form.split_once(END).filter(|_| is_posted) {
                Some((fields, rest)) => marked.extend([fields, &*field, END, rest]),
                None => marked.push_str(form),
            }
        }
        marked
    }
}
