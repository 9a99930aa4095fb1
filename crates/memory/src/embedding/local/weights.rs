//! A file of weights: `model.safetensors`. A header of JSON says where each tensor lies; nothing is mapped, so a file
//! that shrinks under a running Hob is an error and no signal.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::embedding::error::EmbedError;
use crate::embedding::local::unusable;

/// The longest header that is read: all-MiniLM-L6-v2's has 11 kB.
const HEADER_BYTES_MAX: u64 = 4 << 20;
const F32_BYTES: usize = size_of::<f32>();

/// The file, and where its tensors lie.
pub(super) struct Weights {
    path: PathBuf,
    file: File,
    tensors: BTreeMap<String, Tensor>,
    /// Where the tensors begin.
    base: u64,
}

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// Rows that stay in the file: each is read when it is needed, from the system's cache as a rule.
pub(super) struct TensorRows {
    path: PathBuf,
    file: File,
    at: u64,
    rows: usize,
    columns: usize,
}

impl Weights {
    /// Opens the file and adds its header to `hash`.
    pub(super) fn open(path: &Path, hash: &mut Sha256) -> Result<Self, EmbedError> {
        let bad = |why: String| unusable(path, why);
        let file = File::open(path).map_err(|error| unusable(path, error))?;
        let mut length = [0; 8];
        file.read_exact_at(&mut length, 0).map_err(|error| unread(path, &error))?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX {
            return Err(bad(format!("its header would have {length} bytes: it is not a file of safetensors")));
        }
        let mut header = vec![0; usize::try_from(length).map_err(|error| unusable(path, error))?];
        file.read_exact_at(&mut header, 8).map_err(|error| unread(path, &error))?;
        hash.update(&header);
        let entries: BTreeMap<String, &RawValue> =
            serde_json::from_slice(&header).map_err(|error| unusable(path, error))?;
        let tensors = entries
            .into_iter()
            .filter(|(name, _)| name != "__metadata__")
            .map(|(name, tensor)| Ok((name, serde_json::from_str(tensor.get())?)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|error| unusable(path, error))?;
        Ok(Self { path: path.to_owned(), file, tensors, base: 8 + length })
    }

    /// A whole tensor of this shape.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let at = self.find(name, shape)?;
        read(&self.file, &self.path, at, shape.iter().product())
    }

    /// A tensor whose rows stay in the file.
    pub(super) fn table(&self, name: &str, rows: usize, columns: usize) -> Result<TensorRows, EmbedError> {
        let at = self.find(name, &[rows, columns])?;
        let file = self.file.try_clone().map_err(|error| unusable(&self.path, error))?;
        Ok(TensorRows { path: self.path.clone(), file, at, rows, columns })
    }

    fn find(&self, name: &str, shape: &[usize]) -> Result<u64, EmbedError> {
        let bad = |why: String| unusable(&self.path, why);
        let tensor = self.tensors.get(name).ok_or_else(|| bad(format!("it has no {name}")))?;
        if tensor.dtype != "F32" || tensor.shape != shape {
            let Tensor { dtype, shape: found, .. } = tensor;
            return Err(bad(format!("{name} is {dtype} {found:?} where F32 {shape:?} is needed")));
        }
        let [from, to] = tensor.data_offsets;
        let bytes = (shape.iter().product::<usize>() * F32_BYTES) as u64;
        if to.checked_sub(from) != Some(bytes) {
            return Err(bad(format!("{name} does not have the bytes of its shape")));
        }
        from.checked_add(self.base).ok_or_else(|| bad(format!("{name} lies beyond the file")))
    }
}

impl TensorRows {
    pub(super) fn row(&self, index: u32) -> Result<Vec<f32>, EmbedError> {
        let index = index as usize;
        if index >= self.rows {
            return Err(unusable(&self.path, format!("its vocabulary has no piece {index}")));
        }
        read(&self.file, &self.path, self.at + (index * self.columns * F32_BYTES) as u64, self.columns)
    }
}

/// What could not be read of a file; one that was copied in part is the usual reason.
fn unread(path: &Path, error: &std::io::Error) -> EmbedError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => unusable(path, "its end is missing"),
        _ => unusable(path, error),
    }
}

fn read(file: &File, path: &Path, at: u64, values: usize) -> Result<Vec<f32>, EmbedError> {
    let mut bytes = vec![0; values * F32_BYTES];
    file.read_exact_at(&mut bytes, at).map_err(|error| unread(path, &error))?;
    let (values, _) = bytes.as_chunks::<F32_BYTES>();
    Ok(values.iter().map(|&value| f32::from_le_bytes(value)).collect())
}
