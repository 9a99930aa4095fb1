//! `/forget`, `/pin` and `/unpin`. What is forgotten is named by its short name: nothing goes on a guess.

use crate::command::ForgetTarget;
use crate::command_handlers::CommandOutcome;
use crate::memory::editing;
use crate::memory::{MemoryView, found, texts};
use hob_core::domain::memory::Scope;
use hob_core::policy::memory::may_change;
use hob_memory::forget::ForgetItem;
use hob_memory::item::MemoryItem;
use hob_store::error::StoreError;
use hob_store::{Tx, memory_views};

/// `/forget`.
pub(crate) async fn forget(
    tx: &mut Tx,
    view: &MemoryView<'_>,
    what: &ForgetTarget,
) -> Result<CommandOutcome, StoreError> {
    match what {
        ForgetTarget::Nothing => Ok(texts::FORGET_WHAT.to_owned().into()),
        ForgetTarget::One(item) => forget_one(tx, view, *item).await,
        ForgetTarget::Words(words) => {
            let (said, known) = found(tx, view, words).await?;
            Ok(texts::which_to_forget(words, &said, &known).into())
        }
        ForgetTarget::Everything { sure } => forget_everything(tx, view, *sure).await,
    }
}

async fn forget_one(tx: &mut Tx, view: &MemoryView<'_>, item: MemoryItem) -> Result<CommandOutcome, StoreError> {
    let Some((_, may)) = view.item(tx, item).await? else {
        return Ok(texts::no_such(item).into());
    };
    if !may {
        return Ok(texts::told_by_another(item).into());
    }
    let rests_on = match item {
        MemoryItem::Fact(fact) => view.fact(tx, fact).await?.and_then(|row| row.memory),
        MemoryItem::Memory(_) => None,
    };
    let forgotten = ForgetItem::from(item).run(tx).await?;
    let text = texts::forgotten(item, &forgotten, rests_on.map(MemoryItem::Memory));
    Ok(CommandOutcome { forgotten: forgotten.memories, ..CommandOutcome::from(text) })
}

async fn forget_everything(tx: &mut Tx, view: &MemoryView<'_>, sure: bool) -> Result<CommandOutcome, StoreError> {
    let own = view.scopes.iter().copied().find(|scope| *scope != Scope::House);
    let Some(scope) = own.filter(|scope| may_change(view.caller.principal, view.place, *scope, None)) else {
        return Ok(texts::NOT_ALL_YOURS.to_owned().into());
    };
    if !sure {
        let counts = memory_views::counts(tx, scope).await?;
        return Ok(texts::everything(scope, counts).into());
    }
    let counts = editing::forget_all(tx, scope).await?;
    Ok(CommandOutcome { emptied: Some(scope), ..CommandOutcome::from(texts::everything_goes(counts)) })
}

/// `/pin` and `/unpin`.
pub(crate) async fn pin(
    tx: &mut Tx,
    view: &MemoryView<'_>,
    item: Option<MemoryItem>,
    pinned: bool,
) -> Result<String, StoreError> {
    let Some(item) = item else {
        return Ok(texts::PIN_WHAT.to_owned());
    };
    let Some((_, may)) = view.item(tx, item).await? else {
        return Ok(texts::no_such(item));
    };
    if !may {
        return Ok(texts::told_by_another(item));
    }
    editing::pin(tx, item, pinned).await?;
    Ok(texts::pinned(item, pinned))
}
