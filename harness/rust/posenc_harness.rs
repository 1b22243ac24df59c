//! Speaks posenc protocol 1 for a program in Rust: copy this file beside yours.
//!
//! It needs the standard library, on a Unix system, and Rust 1.63. A whole program, for rustc or cargo:
//!
//!     mod posenc_harness;
//!     use posenc_harness::{serve, Array, Error, Given};
//!
//!     fn rope(given: &Given) -> Result<Array, Error> {
//!         let (x, base) = (given.array("x")?, given.number("base")?);
//!         ...
//!         Ok(Array { values: turned, ..x.clone() })
//!     }
//!
//!     fn main() {
//!         let claims = r#"[{"call": "rope", "combinations": ["half"]}]"#;
//!         serve("mylib", "1.0", claims, &[("rope", rope)]);
//!     }
//!
//! Claims are JSON, as the protocol has them. Functions are named as the calls of the specification; an
//! Err, or a panic, is the answer to bad input. What is printed goes to standard error.

#![allow(dead_code)] // a program need not use all of it

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::io::{FromRawFd, RawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Values in row-major order. A f64 holds every dtype exactly, whole numbers up to 2^53.
#[derive(Clone, Debug)]
pub struct Array {
    pub dtype: String,
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    /// Values that are rounded to the dtype when they are sent.
    pub fn new(dtype: &str, shape: &[usize], values: Vec<f64>) -> Array {
        Array {
            dtype: dtype.to_string(),
            shape: shape.to_vec(),
            values,
        }
    }

    pub fn from_f32(dtype: &str, shape: &[usize], values: &[f32]) -> Array {
        Array::new(
            dtype,
            shape,
            values.iter().map(|&each| f64::from(each)).collect(),
        )
    }

    pub fn to_f32(&self) -> Vec<f32> {
        self.values.iter().map(|&each| each as f32).collect()
    }
}

/// What went wrong: of which kind, and for people. A text becomes one of the kind "Error".
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: String,
    pub message: String,
}

impl Error {
    pub fn new(kind: &str, message: &str) -> Error {
        Error {
            kind: kind.to_string(),
            message: message.to_string(),
        }
    }

    /// The program does not do what it was asked: this counts as not claimed.
    pub fn not_implemented(message: &str) -> Error {
        Error::new("NotImplementedError", message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::new("Error", message)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::new("Error", &message)
    }
}

/// An error unless that holds.
pub fn ensure(holds: bool, otherwise: &str) -> Result<(), Error> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

/// The arguments of a call by name. What is not given is an error.
pub struct Given {
    arrays: BTreeMap<String, Array>,
    plain: BTreeMap<String, Json>,
}

impl Given {
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name) || self.plain.contains_key(name)
    }

    pub fn array(&self, name: &str) -> Result<&Array, Error> {
        self.arrays.get(name).ok_or_else(|| missing(name))
    }

    pub fn number(&self, name: &str) -> Result<f64, Error> {
        match self.plain.get(name) {
            Some(Json::Number(value)) => Ok(*value),
            _ => Err(missing(name)),
        }
    }

    pub fn integer(&self, name: &str) -> Result<i64, Error> {
        Ok(self.number(name)?.round() as i64)
    }

    pub fn text(&self, name: &str) -> Result<&str, Error> {
        match self.plain.get(name) {
            Some(Json::Text(value)) => Ok(value),
            _ => Err(missing(name)),
        }
    }

    fn from(arguments: &Json) -> Result<Given, Error> {
        let mut given = Given {
            arrays: BTreeMap::new(),
            plain: BTreeMap::new(),
        };
        if let Json::Object(fields) = arguments {
            for (name, value) in fields {
                if let Json::Object(_) = value {
                    given.arrays.insert(name.clone(), received(value)?);
                } else {
                    given.plain.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(given)
    }
}

pub type Function = fn(&Given) -> Result<Array, Error>;

/// Answers requests until there are no more.
pub fn serve(name: &str, version: &str, claims: &str, functions: &[(&str, Function)]) {
    let mut out = own_output();
    let description = format!(
        "{{\"protocol\": 1, \"name\": {}, \"version\": {}, \"language\": \"Rust\", \"claims\": {}}}",
        quoted(name),
        quoted(version),
        claims.replace('\n', " ")
    );
    for line in io::stdin().lock().lines() {
        let line = line.expect("a request is text");
        let request = Reader {
            line: line.as_bytes(),
            at: 0,
        }
        .read();
        let asked = request.at("request").text().to_string();
        let answer = catch_unwind(AssertUnwindSafe(|| match asked.as_str() {
            "goodbye" => Ok("null".to_string()),
            "describe" if request.at("protocol").number() == 1.0 => Ok(description.clone()),
            "describe" => Err("this program speaks posenc protocol 1".into()),
            _ => called(&request, functions),
        }));
        let answer = answer.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|each| each.to_string()));
            Err(Error::new("panic", &text.unwrap_or_default()))
        });
        let said = match answer {
            Ok(result) => format!("\"result\": {}", result),
            Err(Error { kind, message }) => format!(
                "\"error\": {{\"type\": {}, \"message\": {}}}",
                quoted(&kind),
                quoted(&message)
            ),
        };
        io::stdout().flush().expect("standard error can be written");
        writeln!(out, "{{\"id\": {}, {}}}", request.at("id").number(), said)
            .and_then(|_| out.flush())
            .expect("the kit listens");
        if asked == "goodbye" {
            break;
        }
    }
}

extern "C" {
    fn dup(from: RawFd) -> RawFd;
    fn dup2(from: RawFd, to: RawFd) -> RawFd;
}

/// What is printed must not come among the answers: they go to a copy of standard output.
fn own_output() -> File {
    // SAFETY: both take and give numbers of files; that of the copy has no other owner.
    unsafe {
        let copy = dup(1);
        dup2(2, 1);
        File::from_raw_fd(copy)
    }
}

fn called(request: &Json, functions: &[(&str, Function)]) -> Result<String, Error> {
    let name = request.at("call").text();
    let given = Given::from(request.at("arguments"))?;
    match functions.iter().find(|(each, _)| *each == name) {
        Some((_, function)) => sent(&function(&given)?),
        None => Err(Error::not_implemented("no function has this name")),
    }
}

fn missing(name: &str) -> Error {
    format!("nothing is given as {}", name).into()
}

#[derive(Clone, Debug)]
enum Json {
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    fn at(&self, name: &str) -> &Json {
        match self {
            Json::Object(fields) => fields
                .get(name)
                .unwrap_or_else(|| panic!("{} is missing", name)),
            _ => panic!("{} is missing", name),
        }
    }

    fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => panic!("a text was expected"),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Json::Number(number) => *number,
            _ => panic!("a number was expected"),
        }
    }
}

/// Reads what the kit writes, which is right: nothing here looks for errors that it does not make.
struct Reader<'a> {
    line: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Json {
        match self.peek() {
            b'{' => {
                let mut fields = BTreeMap::new();
                self.at += 1;
                while !self.over(b'}') {
                    let name = self.string();
                    self.peek();
                    self.at += 1; // the colon
                    fields.insert(name, self.read());
                }
                Json::Object(fields)
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while !self.over(b']') {
                    items.push(self.read());
                }
                Json::List(items)
            }
            b'"' => Json::Text(self.string()),
            _ => {
                let rest = &self.line[self.at..];
                let length = rest.iter().position(|each| b",]} \t\r".contains(each));
                let digits = &rest[..length.unwrap_or(rest.len())];
                self.at += digits.len();
                let text = String::from_utf8_lossy(digits);
                Json::Number(
                    text.parse()
                        .unwrap_or_else(|_| panic!("no number: {}", text)),
                )
            }
        }
    }

    fn peek(&mut self) -> u8 {
        while b" \t\r".contains(&self.line[self.at]) {
            self.at += 1;
        }
        self.line[self.at]
    }

    /// Whether the list ends here; if not, goes to its next element.
    fn over(&mut self, close: u8) -> bool {
        if self.peek() == b',' {
            self.at += 1;
        }
        let ended = self.peek() == close;
        self.at += usize::from(ended);
        ended
    }

    fn string(&mut self) -> String {
        self.peek();
        self.at += 1;
        let mut units: Vec<u16> = Vec::new();
        let mut out = String::new();
        loop {
            let rest = &self.line[self.at..];
            let plain = rest
                .iter()
                .position(|each| b"\"\\".contains(each))
                .expect("a text ends");
            if plain > 0 || rest[0] == b'"' || rest[1] != b'u' {
                out.push_str(&String::from_utf16_lossy(&units));
                units.clear();
            }
            out.push_str(&String::from_utf8_lossy(&rest[..plain]));
            self.at += plain + 1;
            if rest[plain] == b'"' {
                return out;
            }
            self.at += 1;
            match rest[plain + 1] {
                b'u' => {
                    let digits = String::from_utf8_lossy(&rest[plain + 2..plain + 6]);
                    units.push(u16::from_str_radix(&digits, 16).expect("four digits"));
                    self.at += 4;
                }
                b'b' => out.push('\u{8}'),
                b'f' => out.push('\u{c}'),
                b'n' => out.push('\n'),
                b'r' => out.push('\r'),
                b't' => out.push('\t'),
                other => out.push(char::from(other)),
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for each in text.chars() {
        match each {
            '"' | '\\' => out.extend(['\\', each]),
            _ if each < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(each))),
            _ => out.push(each),
        }
    }
    out + "\""
}

/// How many bytes an element has, and how many bits of a float are its exponent and its fraction.
#[derive(Clone, Copy)]
enum Format {
    Float {
        bytes: usize,
        exponent: u32,
        fraction: u32,
    },
    Signed {
        bytes: usize,
    },
    Unsigned {
        bytes: usize,
    },
}

impl Format {
    fn of(dtype: &str) -> Result<Format, Error> {
        Ok(match dtype {
            "float64" => Format::Float {
                bytes: 8,
                exponent: 11,
                fraction: 52,
            },
            "float32" => Format::Float {
                bytes: 4,
                exponent: 8,
                fraction: 23,
            },
            "bfloat16" => Format::Float {
                bytes: 2,
                exponent: 8,
                fraction: 7,
            },
            "float16" => Format::Float {
                bytes: 2,
                exponent: 5,
                fraction: 10,
            },
            "int64" => Format::Signed { bytes: 8 },
            "int32" => Format::Signed { bytes: 4 },
            "int16" => Format::Signed { bytes: 2 },
            "int8" => Format::Signed { bytes: 1 },
            "uint64" => Format::Unsigned { bytes: 8 },
            "uint32" => Format::Unsigned { bytes: 4 },
            "uint16" => Format::Unsigned { bytes: 2 },
            "uint8" | "bool" => Format::Unsigned { bytes: 1 },
            _ => return Err(format!("{} is no dtype", dtype).into()),
        })
    }

    fn bytes(self) -> usize {
        match self {
            Format::Float { bytes, .. } => bytes,
            Format::Signed { bytes } | Format::Unsigned { bytes } => bytes,
        }
    }
}

const EXACT: f64 = 9007199254740992.0; // 2^53

fn value_of(bits: u64, format: Format) -> Result<f64, Error> {
    let (exponent, fraction) = match format {
        Format::Float {
            exponent, fraction, ..
        } => (exponent, fraction),
        _ => {
            let spare = 64 - 8 * format.bytes() as u32;
            let value = match format {
                Format::Signed { .. } => ((bits << spare) as i64 >> spare) as f64,
                _ => bits as f64,
            };
            let fits = value.abs() <= EXACT;
            return if fits {
                Ok(value)
            } else {
                Err("a whole number is larger than 2^53".into())
            };
        }
    };
    if exponent == 11 {
        return Ok(f64::from_bits(bits));
    }
    let largest = (1 << exponent) - 1;
    let power = (bits >> fraction) as i32 & largest;
    let units = bits & ((1 << fraction) - 1);
    let magnitude = if power == largest {
        if units == 0 {
            f64::INFINITY
        } else {
            f64::NAN
        }
    } else {
        let hidden = if power > 0 { 1 << fraction } else { 0 };
        (units + hidden) as f64 * two_to(power.max(1) - (largest >> 1) - fraction as i32)
    };
    let negative = bits >> (exponent + fraction) == 1;
    Ok(if negative { -magnitude } else { magnitude })
}

/// Rounds to the nearest value of the dtype, and of two to the even one.
fn bits_of(value: f64, format: Format) -> Result<u64, Error> {
    let (exponent, fraction) = match format {
        Format::Float {
            exponent, fraction, ..
        } => (exponent, fraction),
        _ if value.abs() <= EXACT && value.trunc() == value => return Ok(value as i64 as u64),
        _ => return Err("a whole number was expected, of at most 2^53".into()),
    };
    if exponent == 11 {
        return Ok(value.to_bits());
    }
    let bias = (1 << (exponent - 1)) - 1;
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let sign = (value.to_bits() >> 63) << (exponent + fraction);
    let magnitude = value.abs();
    if value.is_nan() {
        return Ok(sign | infinity | 1 << (fraction - 1));
    }
    let power = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    if power > bias {
        return Ok(sign | infinity);
    }
    let units = magnitude * two_to(fraction as i32 - power);
    let below = units.floor();
    let up = units - below > 0.5 || (units - below == 0.5 && below % 2.0 == 1.0);
    let stored = ((power + bias - 1) as u64) << fraction;
    Ok(sign | (stored + below as u64 + u64::from(up)).min(infinity))
}

/// A power of two in the range of normal numbers.
fn two_to(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn received(json: &Json) -> Result<Array, Error> {
    let dtype = json.at("dtype").text();
    let format = Format::of(dtype)?;
    let mut meaning = [0u32; 256];
    for (value, &letter) in LETTERS.iter().enumerate() {
        meaning[usize::from(letter)] = value as u32;
    }
    let text = json.at("data").text().trim_end_matches('=').as_bytes();
    let mut data = Vec::with_capacity(text.len() * 3 / 4);
    for four in text.chunks(4) {
        let joined = four
            .iter()
            .fold(0, |all, &each| all << 6 | meaning[usize::from(each)]);
        let bytes = (joined << (6 * (4 - four.len()))).to_be_bytes();
        data.extend_from_slice(&bytes[1..four.len()]);
    }
    let shape = match json.at("shape") {
        Json::List(items) => items.iter().map(|each| each.number() as usize).collect(),
        _ => Vec::new(),
    };
    let elements = data.chunks(format.bytes());
    let values: Result<Vec<f64>, Error> = elements
        .map(|each| {
            each.iter()
                .rev()
                .fold(0, |all, &byte| all << 8 | u64::from(byte))
        })
        .map(|bits| value_of(bits, format))
        .collect();
    Ok(Array {
        dtype: dtype.to_string(),
        shape,
        values: values?,
    })
}

fn sent(array: &Array) -> Result<String, Error> {
    let format = Format::of(&array.dtype)?;
    if array.shape.iter().product::<usize>() != array.values.len() {
        let count = array.values.len();
        return Err(format!("{} values are not of the shape {:?}", count, array.shape).into());
    }
    let mut data = Vec::with_capacity(array.values.len() * format.bytes());
    for &value in &array.values {
        data.extend_from_slice(&bits_of(value, format)?.to_le_bytes()[..format.bytes()]);
    }
    let mut text = String::with_capacity(data.len() * 4 / 3 + 4);
    for three in data.chunks(3) {
        let joined = three
            .iter()
            .fold(0, |all, &each| all << 8 | u32::from(each));
        let joined = joined << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(joined >> (18 - 6 * place) & 63) as usize];
            text.push(if place > three.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    Ok(format!(
        "{{\"dtype\": {}, \"shape\": {:?}, \"data\": \"{}\"}}",
        quoted(&array.dtype),
        array.shape,
        text
    ))
}
