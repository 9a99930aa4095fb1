//! JSON with its keys in order and without fields that say nothing, written while a value tells of itself: no tree is made of it first.
//!
//! What is empty, nought, off or null says nothing; in a list it stands all the same, as each place there counts. Numbers and texts
//! are as in [`serde_json::Value`].

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use serde_json::{Error, Value};

/// The text of a value.
///
/// # Errors
/// When it has a map whose keys are neither texts nor numbers.
pub(super) fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    value.serialize(CanonicalWriter(&mut text))?;
    Ok(text)
}

/// Adds a value to the text, and tells whether it says anything.
struct CanonicalWriter<'a>(&'a mut Vec<u8>);

impl<'a> CanonicalWriter<'a> {
    /// A text, a number or a word of JSON.
    fn scalar<T: Serialize + ?Sized>(self, value: &T, says: bool) -> Result<bool, Error> {
        serde_json::to_writer(self.0, value)?;
        Ok(says)
    }

    fn list(self, variant: Option<&'static str>) -> Result<ListWriter<'a>, Error> {
        if let Some(name) = variant {
            write_key(self.0, "{", name)?;
        }
        self.0.push(b'[');
        Ok(ListWriter { begun: self.0.len(), text: self.0, is_variant: variant.is_some() })
    }

    fn object(self, length: usize, variant: Option<&'static str>) -> ObjectWriter<'a> {
        let fields = Vec::with_capacity(length);
        ObjectWriter { begun: self.0.len(), text: self.0, fields, key: None, variant }
    }
}

fn write_key(text: &mut Vec<u8>, before: &str, key: &str) -> Result<(), Error> {
    text.extend_from_slice(before.as_bytes());
    serde_json::to_writer(&mut *text, key)?;
    text.push(b':');
    Ok(())
}

/// A list that is being written.
struct ListWriter<'a> {
    text: &'a mut Vec<u8>,
    begun: usize,
    /// It is the only field of an object.
    is_variant: bool,
}

impl ListWriter<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.text.extend((self.text.len() > self.begun).then_some(b','));
        value.serialize(CanonicalWriter(self.text)).map(drop)
    }

    fn close(self) -> bool {
        let says = self.text.len() > self.begun;
        self.text.push(b']');
        self.text.extend(self.is_variant.then_some(b'}'));
        says
    }
}

/// An object that is being written: the values in the order in which they come, to be put in order at its end.
struct ObjectWriter<'a> {
    text: &'a mut Vec<u8>,
    begun: usize,
    /// Where the value of each field is, from the object's beginning.
    fields: Vec<(Cow<'static, str>, Range<usize>)>,
    /// That of the value that comes next.
    key: Option<String>,
    /// The name under which it is the only field of another.
    variant: Option<&'static str>,
}

impl ObjectWriter<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, key: Cow<'static, str>, value: &T) -> Result<(), Error> {
        let from = self.text.len();
        if value.serialize(CanonicalWriter(self.text))? {
            self.fields.push((key, from - self.begun..self.text.len() - self.begun));
        } else {
            self.text.truncate(from);
        }
        Ok(())
    }

    fn close(mut self) -> Result<bool, Error> {
        self.fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let values = self.text.split_off(self.begun);
        let says = !self.fields.is_empty();
        let variant = self.variant.filter(|_| says);
        if let Some(name) = variant {
            write_key(self.text, "{", name)?;
        }
        self.text.push(b'{');
        for (at, (key, value)) in self.fields.into_iter().enumerate() {
            write_key(self.text, if at > 0 { "," } else { "" }, &key)?;
            self.text.extend_from_slice(&values[value]);
        }
        self.text.push(b'}');
        self.text.extend(variant.map(|_| b'}'));
        Ok(says)
    }
}

/// Numbers say something unless they are nought.
macro_rules! numbers {
    ($($method:ident: $number:ty as $wide:ty),+ $(,)?) => {$(
        fn $method(self, value: $number) -> Result<bool, Error> {
            let value = <$wide>::from(value);
            self.scalar(&value, value != <$wide>::default())
        }
    )+};
}

impl<'a> Serializer for CanonicalWriter<'a> {
    type Ok = bool;
    type Error = Error;
    type SerializeSeq = ListWriter<'a>;
    type SerializeTuple = ListWriter<'a>;
    type SerializeTupleStruct = ListWriter<'a>;
    type SerializeTupleVariant = ListWriter<'a>;
    type SerializeMap = ObjectWriter<'a>;
    type SerializeStruct = ObjectWriter<'a>;
    type SerializeStructVariant = ObjectWriter<'a>;

    numbers! {
        serialize_bool: bool as bool,
        serialize_i8: i8 as i64,
        serialize_i16: i16 as i64,
        serialize_i32: i32 as i64,
        serialize_i64: i64 as i64,
        serialize_u8: u8 as u64,
        serialize_u16: u16 as u64,
        serialize_u32: u32 as u64,
        serialize_u64: u64 as u64,
    }

    fn serialize_f32(self, value: f32) -> Result<bool, Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<bool, Error> {
        self.scalar(&value, value != 0.0 && value.is_finite())
    }

    fn serialize_char(self, value: char) -> Result<bool, Error> {
        self.scalar(&value, true)
    }

    fn serialize_str(self, value: &str) -> Result<bool, Error> {
        self.scalar(value, !value.is_empty())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<bool, Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<bool, Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<bool, Error> {
        self.scalar(&(), false)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<bool, Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _name: &'static str, _at: u32, variant: &'static str) -> Result<bool, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<bool, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<bool, Error> {
        let mut object = self.object(1, None);
        object.field(Cow::Borrowed(variant), value)?;
        object.close()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<ListWriter<'a>, Error> {
        self.list(None)
    }

    fn serialize_tuple(self, _length: usize) -> Result<ListWriter<'a>, Error> {
        self.list(None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<ListWriter<'a>, Error> {
        self.list(None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<ListWriter<'a>, Error> {
        self.list(Some(variant))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<ObjectWriter<'a>, Error> {
        Ok(self.object(length.unwrap_or(0), None))
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<ObjectWriter<'a>, Error> {
        Ok(self.object(length, None))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<ObjectWriter<'a>, Error> {
        Ok(self.object(length, Some(variant)))
    }
}

/// What lists are made of, whatever they are called.
macro_rules! lists {
    ($($kind:ident: $method:ident),+ $(,)?) => {$(
        impl $kind for ListWriter<'_> {
            type Ok = bool;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<bool, Error> {
                Ok(self.close())
            }
        }
    )+};
}

lists! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

/// The same for objects whose fields are known.
macro_rules! structs {
    ($($kind:ident),+) => {$(
        impl $kind for ObjectWriter<'_> {
            type Ok = bool;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(Cow::Borrowed(key), value)
            }

            fn end(self) -> Result<bool, Error> {
                self.close()
            }
        }
    )+};
}

structs!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for ObjectWriter<'_> {
    type Ok = bool;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = match serde_json::to_value(key)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err(Error::custom("a key is neither a text nor a number"));
            }
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().unwrap_or_default();
        self.field(Cow::Owned(key), value)
    }

    fn end(self) -> Result<bool, Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn text_of<T: Serialize>(value: &T) -> String {
        String::from_utf8(canonical_json(value).unwrap()).unwrap()
    }

    #[test]
    fn n2_what_says_nothing_is_left_out() {
        let table = [
            (json!({"b": 1, "a": "x"}), r#"{"a":"x","b":1}"#),
            (json!({"a": null, "b": false, "c": 0, "d": "", "e": [], "f": {}, "g": {"h": {"i": 0}}}), "{}"),
            (json!({"a": true, "b": [0, null, ""]}), r#"{"a":true,"b":[0,null,""]}"#),
            (json!({"a": {"b": 0, "c": 2}}), r#"{"a":{"c":2}}"#),
            (json!({"a\"b": [[], {}]}), r#"{"a\"b":[[],{}]}"#),
        ];
        for (value, expected) in table {
            assert_eq!(text_of(&value), expected);
        }
    }

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(u32),
        Tuple(u32, Option<u32>),
        Struct { zulu: bool, alpha: char },
    }

    #[derive(Serialize)]
    struct Newtype(Vec<Shape>);

    #[derive(Serialize)]
    struct Pair(i8, f32);

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Everything {
        shapes: Newtype,
        pair: Pair,
        unit: Unit,
        nothing: (),
        none: Option<Unit>,
        keyed: BTreeMap<i64, Shape>,
        named: BTreeMap<String, f64>,
    }

    /// Whether it is told by a value of any kind or by a tree of JSON, the text is the same.
    #[test]
    fn n2_it_is_the_text_of_the_tree() {
        let shapes = || {
            let full = Shape::Struct { zulu: true, alpha: '"' };
            vec![Shape::Unit, Shape::Newtype(0), Shape::Newtype(7), Shape::Tuple(0, None), full]
        };
        let numbers = [("nan", f64::NAN), ("nought", -0.0), ("small", 5e-324), ("whole", 1.0), ("tenth", 0.1)];
        let everything = Everything {
            shapes: Newtype(shapes()),
            pair: Pair(-1, 0.1),
            unit: Unit,
            nothing: (),
            none: Some(Unit),
            keyed: (-3..).zip(shapes()).collect(),
            named: numbers.map(|(name, number)| (name.to_owned(), number)).into(),
        };
        assert_eq!(text_of(&everything), text_of(&serde_json::to_value(&everything).unwrap()));
        assert!(canonical_json(&BTreeMap::from([(true, 1)])).is_err());
        for shape in shapes() {
            assert_eq!(text_of(&shape), text_of(&serde_json::to_value(&shape).unwrap()));
        }
    }
}
