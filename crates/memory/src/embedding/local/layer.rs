//! The parts that a layer of the model is made of.

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::{Layout, Matrix, NdTensorView};
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax};

use crate::embedding::error::EmbedError;
use crate::embedding::local::shape::ModelShape;
use crate::embedding::local::weights::Weights;

/// A multiplication by weights that lie in memory as the kernel reads them.
pub(super) struct Linear {
    weights: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

/// A normalisation of rows.
pub(super) struct Norm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

pub(super) struct Layer {
    /// Query, key and value beside each other.
    attention_in: Linear,
    attention_out: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
    heads: usize,
    head_size: usize,
}

/// Texts' rows after each other, and where each text ends.
pub(super) struct TokenRows {
    pub(super) values: Vec<f32>,
    pub(super) ends: Vec<usize>,
}

impl Linear {
    /// The linear maps of these names, beside each other.
    fn read(weights: &Weights, gemm: &Gemm, names: &[String], input: usize, output: usize) -> Result<Self, EmbedError> {
        let (mut rows, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            rows.extend(weights.tensor(&format!("{name}.weight"), &[output, input])?);
            bias.extend(weights.tensor(&format!("{name}.bias"), &[output])?);
        }
        let rows = Matrix::from_data([bias.len(), input], rows.as_slice());
        Ok(Self { weights: gemm.0.prepack_b(rows.transposed()), bias })
    }

    fn apply(&self, gemm: &Gemm, rows: &[f32]) -> Result<Vec<f32>, EmbedError> {
        let input = self.weights.rows();
        let count = rows.len() / input;
        let mut out = vec![0.0; count * self.bias.len()];
        let a = GemmInputA::Unpacked(Matrix::from_data([count, input], rows));
        let options = GemmOptions { bias: Some(BiasVector::Row(&self.bias)), ..GemmOptions::default() };
        gemm.0.gemm(&mut out, a, GemmInputB::Packed(&self.weights), options).map_err(bug)?;
        Ok(out)
    }
}

impl Norm {
    pub(super) fn read(weights: &Weights, name: &str, shape: &ModelShape) -> Result<Self, EmbedError> {
        let scale = weights.tensor(&format!("{name}.weight"), &[shape.hidden_size])?;
        let bias = weights.tensor(&format!("{name}.bias"), &[shape.hidden_size])?;
        Ok(Self { scale, bias, epsilon: shape.layer_norm_eps })
    }

    pub(super) fn apply(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.scale.len()) {
            let count = row.len() as f32;
            let mean = row.iter().sum::<f32>() / count;
            let variance = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.epsilon).sqrt().recip(),
                element_scale: Some(&self.scale),
                element_bias: Some(&self.bias),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

/// The kernels for this machine's processor. They stay on one thread, and cost nothing to make.
pub(super) struct Gemm(GemmExecutor<f32>);

impl Gemm {
    pub(super) fn new() -> Self {
        Self(GemmExecutor::new())
    }

    /// `a · b`, scaled.
    fn multiply(&self, a: Matrix<'_>, b: Matrix<'_>, scale: f32) -> Result<Vec<f32>, EmbedError> {
        let mut out = vec![0.0; a.size(0) * b.size(1)];
        let options = GemmOptions { alpha: scale, ..GemmOptions::default() };
        self.0.gemm(&mut out, GemmInputA::Unpacked(a), GemmInputB::Unpacked(b), options).map_err(bug)?;
        Ok(out)
    }
}

impl Layer {
    pub(super) fn read(weights: &Weights, gemm: &Gemm, shape: &ModelShape, index: usize) -> Result<Self, EmbedError> {
        let name = |part: &str| format!("encoder.layer.{index}.{part}");
        let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
        let linear = |names: &[String], input, output| Linear::read(weights, gemm, names, input, output);
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        Ok(Self {
            attention_in: linear(&qkv, hidden, hidden)?,
            attention_out: linear(&[name("attention.output.dense")], hidden, hidden)?,
            attention_norm: Norm::read(weights, &name("attention.output.LayerNorm"), shape)?,
            inner: linear(&[name("intermediate.dense")], hidden, inner)?,
            outer: linear(&[name("output.dense")], inner, hidden)?,
            norm: Norm::read(weights, &name("output.LayerNorm"), shape)?,
            heads: shape.num_attention_heads,
            head_size: shape.head_size(),
        })
    }

    /// The numbers that tell this layer from another model's.
    pub(super) fn fingerprint(&self) -> impl Iterator<Item = f32> {
        self.norm.scale.iter().chain(&self.norm.bias).chain(&self.outer.bias).copied()
    }

    pub(super) fn apply(&self, gemm: &Gemm, rows: &mut TokenRows) -> Result<(), EmbedError> {
        let seen = self.attention(gemm, rows)?;
        add(&mut rows.values, &self.attention_out.apply(gemm, &seen)?);
        self.attention_norm.apply(&mut rows.values);
        let mut inner = self.inner.apply(gemm, &rows.values)?;
        Gelu {}.map_mut(&mut inner);
        add(&mut rows.values, &self.outer.apply(gemm, &inner)?);
        self.norm.apply(&mut rows.values);
        Ok(())
    }

    /// What each row sees of the other rows of its text.
    fn attention(&self, gemm: &Gemm, rows: &TokenRows) -> Result<Vec<f32>, EmbedError> {
        let hidden = self.heads * self.head_size;
        let qkv = self.attention_in.apply(gemm, &rows.values)?;
        let mut seen = vec![0.0; rows.values.len()];
        let mut begin = 0;
        for &end in &rows.ends {
            let count = end - begin;
            for head in 0..self.heads {
                let part = |which: usize| {
                    let at = begin * 3 * hidden + which * hidden + head * self.head_size;
                    NdTensorView::from_slice_with_strides([count, self.head_size], &qkv[at..], [3 * hidden, 1])
                        .map_err(bug)
                };
                let (query, key, value) = (part(0)?, part(1)?, part(2)?);
                let mut scores = gemm.multiply(query, key.transposed(), (self.head_size as f32).sqrt().recip())?;
                scores.chunks_exact_mut(count).for_each(|row| {
                    Softmax::new_mut(row).dispatch();
                });
                let mixed = gemm.multiply(Matrix::from_data([count, count], scores.as_slice()), value, 1.0)?;
                for (row, mixed) in mixed.chunks_exact(self.head_size).enumerate() {
                    let at = (begin + row) * hidden + head * self.head_size;
                    seen[at..at + self.head_size].copy_from_slice(mixed);
                }
            }
            begin = end;
        }
        Ok(seen)
    }
}

fn add(rows: &mut [f32], more: &[f32]) {
    rows.iter_mut().zip(more).for_each(|(value, more)| *value += more);
}

fn bug(error: impl std::fmt::Debug) -> EmbedError {
    EmbedError::Setup(format!("The embedding model's sizes do not fit each other: {error:?}"))
}
