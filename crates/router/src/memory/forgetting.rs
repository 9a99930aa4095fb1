//! `/forget`, `/pin` and `/unpin`. What is forgotten is named by its short name: nothing goes on a guess.

use crate::command::Forgetting;
use crate::memory::desk;
use crate::memory::{View, found, texts};
use crate::respond::Told;
use hob_core::domain::memory::Scope;
use hob_core::policy::memory::may_change;
use hob_memory::forget::Forget;
use hob_memory::item::Item;
use hob_store::error::StoreError;
use hob_store::{Tx, remembered};

/// `/forget`.
pub(crate) async fn forget(tx: &mut Tx, view: &View<'_>, what: &Forgetting) -> Result<Told, StoreError> {
    match what {
        Forgetting::Nothing => Ok(texts::FORGET_WHAT.to_owned().into()),
        Forgetting::One(item) => one(tx, view, *item).await,
        Forgetting::Words(words) => {
            let (said, known) = found(tx, view, words).await?;
            Ok(texts::which_to_forget(words, &said, &known).into())
        }
        Forgetting::Everything { sure } => everything(tx, view, *sure).await,
    }
}

async fn one(tx: &mut Tx, view: &View<'_>, item: Item) -> Result<Told, StoreError> {
    let Some((_, may)) = view.item(tx, item).await? else {
        return Ok(texts::no_such(item).into());
    };
    if !may {
        return Ok(texts::told_by_another(item).into());
    }
    let rests_on = match item {
        Item::Fact(fact) => view.fact(tx, fact).await?.and_then(|row| row.memory),
        Item::Memory(_) => None,
    };
    let forgotten = Forget::from(item).run(tx).await?;
    let text = texts::forgotten(item, &forgotten, rests_on.map(Item::Memory));
    Ok(Told { forgotten: forgotten.memories, ..Told::from(text) })
}

async fn everything(tx: &mut Tx, view: &View<'_>, sure: bool) -> Result<Told, StoreError> {
    let own = view.scopes.iter().copied().find(|scope| *scope != Scope::House);
    let Some(scope) = own.filter(|scope| may_change(view.caller.principal, view.place, *scope, None)) else {
        return Ok(texts::NOT_ALL_YOURS.to_owned().into());
    };
    if !sure {
        let counts = remembered::counts(tx, scope).await?;
        return Ok(texts::everything(scope, counts).into());
    }
    let counts = desk::forget_all(tx, scope).await?;
    Ok(Told { emptied: Some(scope), ..Told::from(texts::everything_goes(counts)) })
}

/// `/pin` and `/unpin`.
pub(crate) async fn pin(tx: &mut Tx, view: &View<'_>, item: Option<Item>, pinned: bool) -> Result<String, StoreError> {
    let Some(item) = item else {
        return Ok(texts::PIN_WHAT.to_owned());
    };
    let Some((_, may)) = view.item(tx, item).await? else {
        return Ok(texts::no_such(item));
    };
    if !may {
        return Ok(texts::told_by_another(item));
    }
    desk::pin(tx, item, pinned).await?;
    Ok(texts::pinned(item, pinned))
}
