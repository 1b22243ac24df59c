mod posenc_harness;
use posenc_harness::{ensure, serve, Array, Error, Given};

fn sinusoidal(given: &Given) -> Result<Array, Error> {
    let (positions, dim) = (&given.array("positions")?.values, given.integer("dim")?);
    ensure(dim >= 2 && dim % 2 == 0, "dim must be even")?;
    let (mut out, base) = (Vec::new(), given.number("base")?);
    for position in positions {
        for t in (0..dim).step_by(2) {
            let angle = position * base.powf(-t as f64 / dim as f64);
            out.extend([angle.sin(), angle.cos()]);
        }
    }
    Ok(Array::new(given.text("dtype")?, &[positions.len(), dim as usize], out))
}

fn rope(given: &Given) -> Result<Array, Error> {
    let (mut x, positions) = (given.array("x")?.clone(), &given.array("positions")?.values);
    let (rows, dim) = (x.shape[x.shape.len() - 2], x.shape[x.shape.len() - 1]);
    ensure(dim % 2 == 0 && rows == positions.len(), "no pairs, or no positions")?;
    for (n, pair) in x.values.chunks_mut(2).enumerate() {
        let omega = given.number("base")?.powf(-((2 * n % dim) as f64) / dim as f64);
        let angle = positions[2 * n / dim % rows] * omega;
        let (a, b, sin, cos) = (pair[0], pair[1], angle.sin(), angle.cos());
        pair.copy_from_slice(&[a * cos - b * sin, a * sin + b * cos]);
    }
    Ok(x)
}

fn main() {
    serve("my Rust library", "1.0", r#"[
        {"call": "sinusoidal", "combinations": ["paper"], "dtype": ["float64", "float32"]},
        {"call": "rope", "combinations": ["interleaved"], "dtype": ["float64", "float32", "bfloat16", "float16"]}
    ]"#, &[("sinusoidal", sinusoidal), ("rope", rope)]);
}
