//! How members of bodies are read where serde's derived readers know less than the document, or take
//! more: a whole number that is written with a fraction, an object that is no array of its members, a
//! word that is text.

use std::{collections::HashMap, fmt, marker::PhantomData};

use rookery_domain::{if_match::VERSION_MAX, json, limits::BATCH_ROWS_MAX};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IgnoredAny, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
        value::MapAccessDeserializer,
    },
};
use serde_json::Value;

/// By which of its names a body has the member that has two of them: serde does not tell. The first,
/// where it has none.
pub fn name_sent(body: &[u8], [name, second]: [&'static str; 2]) -> &'static str {
    let members: HashMap<String, IgnoredAny> = serde_json::from_slice(body).unwrap_or_default();
    if members.contains_key(second) { second } else { name }
}

/// A member that must be there, and may be null: without this, serde takes an absent one for null.
///
/// # Errors
/// Those of `T`.
pub fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// A [whole](json::whole) number from `MIN` to `MAX`, the bounds that the document tells of the member.
/// `T` is the number's type, which holds them, or what may be without it; with `#[serde(default)]` it may be
/// absent.
///
/// # Errors
/// For anything else, naming the bounds.
pub fn whole<'de, const MIN: i64, const MAX: i64, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    let refused = || D::Error::custom(format_args!("expected a whole number from {MIN} to {MAX}"));
    if !value.is_null() {
        let number = json::whole(&value).filter(|number| (MIN..=MAX).contains(number));
        value = number.ok_or_else(refused)?.into();
    }
    T::deserialize(value).map_err(|_| refused())
}

/// The version of a row that a body has seen, within what the document's integers hold; with
/// `#[serde(default)]` it may be absent.
///
/// # Errors
/// For what is no such number.
pub fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    whole::<0, { VERSION_MAX.cast_signed() }, _, _>(deserializer)
}

/// As [`version`], in a query.
///
/// # Errors
/// For what is no such number.
pub fn version_in_query<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(beyond) if beyond > VERSION_MAX => {
            Err(D::Error::custom(format_args!("must be at most {VERSION_MAX}")))
        }
        version => Ok(version),
    }
}

/// A `T` that is written as an object. An array of its members' values, in their order, is refused.
pub struct AsObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AsObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = AsObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<AsObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(AsObject)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// A list of [`BATCH_ROWS_MAX`] entries at most, whatever the settings take: a body of few bytes for each
/// would become very many times as large in memory before anybody counts them.
///
/// # Errors
/// Those of `T`, and for more entries.
pub fn entries<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Entries<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() == BATCH_ROWS_MAX {
                    let message = format_args!("has more than {BATCH_ROWS_MAX} entries");
                    return Err(A::Error::custom(message));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_seq(Entries(PhantomData))
}

/// A list of objects.
///
/// # Errors
/// Those of `T` and of [`entries`], and for an entry that is no object.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list: Vec<AsObject<T>> = entries(deserializer)?;
    Ok(list.into_iter().map(|AsObject(object)| object).collect())
}

/// One of the words of an enum `T`, written as text. An object named by the word is refused.
struct Word<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        T::deserialize(word.into_deserializer()).map(Word)
    }
}

/// A word.
///
/// # Errors
/// Those of `T`, and for what is no text.
pub fn word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Word::deserialize(deserializer).map(|Word(word)| word)
}

/// A word that may be null; with `#[serde(default)]` it may be absent as well.
///
/// # Errors
/// As [`word`].
pub fn optional_word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let word = Option::<Word<T>>::deserialize(deserializer)?;
    Ok(word.map(|Word(word)| word))
}

/// A list of words.
///
/// # Errors
/// As [`word`].
pub fn words<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Word<T>>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|Word(word)| word).collect())
}

/// A list of words that may be null; with `#[serde(default)]` it may be absent as well.
///
/// # Errors
/// As [`word`].
pub fn optional_words<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let list = Option::<Vec<Word<T>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|Word(word)| word).collect()))
}
