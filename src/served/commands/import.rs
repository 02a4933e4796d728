//! Import of a row: the item as a creation would write it, with the id and the times of the row. References,
//! copies, counts and reservations are derived, as for any other creation.

use onehop_model::{Action, Field, FieldKind, Grants, ValueSource};
use onehop_store::{Fault, Ledger};
use serde_json::{Map, Value, json};

use super::create::Claimant;
use super::{ServedCommand, ServedCommands, ServedMutation};
use crate::accounts::account_id::AccountId;
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::domain::error::{CommandError, Refusal, RefusalCode};
use crate::served::access::Requester;
use crate::served::ids::{ItemPlace, derived_id};
use crate::served::import::rows::{RowPlaces, id_of_row, input_of_row};
use crate::served::input::{InputCheck, InputField, follows_reference, input_name};
use crate::served::model::{Body, ServedType, TypeIndex};
use crate::served::names::interned;
use crate::served::reads::is_deleted;
use crate::served::stored;

/// The field of a row with its id.
const ID: &str = "id";
/// The field of a row of accounts with the password.
const PASSWORD: &str = "password";

/// The outcome of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportedRow {
    /// The item was written.
    Created,
    /// The item was there, from an earlier import.
    Existed,
}

/// A row that was not imported.
#[derive(Debug)]
pub enum RefusedRow {
    /// It is no item of its type.
    Invalid(String),
    /// An item that it refers to is not there, or not yet.
    Missing(String),
    /// A fault of the store.
    Fault(Fault),
}

impl From<CommandError> for RefusedRow {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(refusal) => refusal.into(),
            CommandError::Fault(fault) => Self::Fault(fault),
        }
    }
}

impl From<Refusal> for RefusedRow {
    fn from(refusal: Refusal) -> Self {
        let reasons: Vec<String> = refusal.invalid_fields.iter().map(|field| field.message.clone()).collect();
        let reason = match (reasons.is_empty(), refusal.field) {
            (false, _) => reasons.join("; "),
            (true, Some(field)) => format!("{field}: {}", refusal.message),
            (true, None) => refusal.message.clone(),
        };
        match refusal.code {
            RefusalCode::NotFound => Self::Missing(reason),
            _ => Self::Invalid(reason),
        }
    }
}

impl From<Fault> for RefusedRow {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl ServedCommands {
    /// Writes the item of a row. Safe to repeat: an item that is there stays as it is.
    ///
    /// # Errors
    /// See [`RefusedRow`].
    pub async fn import(
        &self,
        ty: TypeIndex,
        row: &Map<String, Value>,
        places: &RowPlaces,
        ledger: &Ledger,
    ) -> Result<ImportedRow, RefusedRow> {
        let served = self.ty(ty);
        let mut values = row.clone();
        let own_id = values.remove(ID);
        let password = if served.item.login.is_some() { values.remove(PASSWORD) } else { None };
        let input = input_of_row(&self.model, ty, &values, places).map_err(RefusedRow::Invalid)?;
        let mut body = self.imported_body(ty, &input, ledger).await?;
        let id = match (served.item.id_from.is_empty(), own_id.as_ref().and_then(text_of)) {
            (false, _) => self.derived(ty, &body),
            (true, Some(own)) => id_of_row(&self.model, ty, &own),
            (true, None) => derived_id(&["row", served.type_value, &Value::Object(row.clone()).to_string()]),
        };
        let place = self.identify(ty, id, &mut body)?;
        if let Some(existing) = self.stored(&*self.store, &place, ledger).await? {
            return match self.is_present(ty, &existing.body) {
                true => Ok(ImportedRow::Existed),
                false if is_deleted(&existing.body) => {
                    Err(RefusedRow::Invalid(format!("this {} was deleted", served.name)))
                }
                false => Err(RefusedRow::Invalid("another item has its id".to_owned())),
            };
        }
        let claimant = match served.item.id_from.is_empty() {
            true => Claimant::New,
            false => Claimant::Known(&[]),
        };
        if let Claimant::New = claimant {
            self.claim(&place, &body, claimant, ledger).await?;
        }
        if let Some(password) = password.as_ref().and_then(Value::as_str) {
            self.import_password(&place, password, &body, ledger).await?;
        }
        match self.write_claimed(place.clone(), body, claimant, ledger).await {
            Ok(_) => Ok(ImportedRow::Created),
            // A row of the same item was faster.
            Err(CommandError::Rejected(refusal)) if refusal.code == RefusalCode::Conflict => {
                match self.reads.item(&place, ledger).await? {
                    Some(_) => Ok(ImportedRow::Existed),
                    None => Err(refusal.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The properties of the item of a row, without its id.
    async fn imported_body(
        &self,
        ty: TypeIndex,
        input: &Map<String, Value>,
        ledger: &Ledger,
    ) -> Result<Body, CommandError> {
        let served = self.ty(ty);
        let grants = Grants { public: true, ..Grants::default() };
        let mutation =
            ServedMutation { ty, action: Action::Create, fields: Vec::new(), conditions: Vec::new(), grants };
        let command = ServedCommand { mutation: &mutation, input, requester: Requester::default() };
        let checked = self.check(&command, &row_fields(served))?;
        let mut body = self.initial_body(served);
        self.set_given(served, input, &mut body)?;
        let filled = self.filled(served, checked.values, ledger).await?;
        self.set_currencies(served, &checked.currencies, &filled, &mut body)?;
        self.set_values(served, filled.values, &mut body);
        self.set_references(ty, checked.references, (None, &mut body), ledger).await?;
        self.compute(ty, &mut body)?;
        self.check_recognised(served, &body)?;
        Ok(body)
    }

    /// Writes the times and the numbers of changes that the row gives.
    fn set_given(&self, ty: &ServedType, input: &Map<String, Value>, body: &mut Body) -> Result<(), Refusal> {
        let mut check = InputCheck::new(&self.model);
        for field in &ty.item.fields {
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            let is_given = matches!(
                stored_field.source,
                ValueSource::Created | ValueSource::Updated(_) | ValueSource::Version(_)
            );
            let name = interned(&field.name);
            let Some(typed) = input.get(name).filter(|typed| is_given && !typed.is_null()) else { continue };
            if let Some(value) = check.value(name, field, typed, &[]) {
                stored::set(body, &stored_field.property, value);
            }
        }
        match check.invalid.is_empty() {
            true => Ok(()),
            false => Err(Refusal::invalid(check.invalid)),
        }
    }

    async fn import_password(
        &self,
        place: &ItemPlace,
        password: &str,
        body: &Body,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let served = self.ty(place.ty);
        let login = served.item.login.as_ref().and_then(|login| served.item.field(login));
        let login =
            login.and_then(|field| stored::get(body, field.property()?)?.as_str()).unwrap_or_default();
        let password = Password::choose(password, login);
        let password = password.map_err(|rule| Refusal::bad_input(PASSWORD, rule))?;
        let hash = self.passwords.hash_for(HashingCaller::default(), password).await?.to_stored();
        let account = AccountId::parse(&place.id);
        let account = account.ok_or_else(|| Refusal::bad_input(ID, "is no id of an account"))?;
        Ok(self.account_passwords.create(account, &hash, self.stated_partition(place), ledger).await?)
    }

    /// The place of a row whose place does not follow from its id, with that id; `None` where the row has no
    /// id or no place.
    #[must_use]
    pub fn place_of_row(
        &self,
        ty: TypeIndex,
        row: &Map<String, Value>,
        places: &RowPlaces,
    ) -> Option<(String, ItemPlace)> {
        let served = self.ty(ty);
        let mut values = row.clone();
        let own = text_of(&values.remove(ID)?)?;
        values.remove(PASSWORD);
        let input = input_of_row(&self.model, ty, &values, places).ok()?;
        let mut body = Body::new();
        let mut check = InputCheck::new(&self.model);
        for field in &served.item.fields {
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            let name = interned(&field.name);
            let value = input.get(name).filter(|_| stored_field.source == ValueSource::Input);
            if let Some(value) = value.and_then(|typed| check.value(name, field, typed, &[])) {
                stored::set(&mut body, &stored_field.property, value);
            }
        }
        for field in &served.item.fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let id = input.get(input_name(field)).and_then(Value::as_str);
            let Some(place) = id.and_then(|id| ItemPlace::decode(&self.model, id).ok()) else { continue };
            stored::set(&mut body, &reference.property, json!(place.id));
            self.fill_partition(served, reference, &place, &mut body);
            let given = [(field.name.to_string(), vec![place])];
            for (name, places) in self.implied_references(served, &given, &body) {
                let implied = served.item.field(&name).and_then(Field::property);
                if let (Some(property), Some(implied)) = (implied, places.first()) {
                    stored::set(&mut body, property, json!(implied.id));
                }
            }
        }
        let id = match served.item.id_from.is_empty() {
            true => id_of_row(&self.model, ty, &own),
            false => self.derived(ty, &body),
        };
        Some((own, self.identify(ty, id, &mut body).ok()?))
    }
}

/// The fields of a row, as the fields of an input.
fn row_fields(ty: &ServedType) -> Vec<InputField<'_>> {
    let input = |field: &'_ Field| -> Option<(bool, bool)> {
        match &field.kind {
            FieldKind::Stored(stored) => {
                (stored.source == ValueSource::Input).then_some((true, stored.default.is_some()))
            }
            FieldKind::Reference(_) => Some((true, field.ty.list.is_some())),
            _ => None,
        }
    };
    let fields = ty.item.fields.iter().filter_map(|field| {
        let (_, has_default) = input(field)?;
        let is_required =
            field.ty.non_null && !has_default && !follows_reference(&ty.item.fields, &field.name);
        Some(InputField { name: input_name(field), field, is_required })
    });
    fields.collect()
}

fn text_of(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
