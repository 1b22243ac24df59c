// Returns its arguments through the harness.

mod posenc_harness;
use posenc_harness::{serve, Array, Error, Given};

fn echo(given: &Given) -> Result<Array, Error> {
    let x = given.array("x")?;
    println!("hello");
    print!("world");
    Ok(Array {
        dtype: given.text("dtype")?.to_string(),
        ..x.clone()
    })
}

fn floats(given: &Given) -> Result<Array, Error> {
    let x = given.array("x")?;
    Ok(Array::from_f32("float32", &x.shape, &x.to_f32()))
}

fn numbers(given: &Given) -> Result<Array, Error> {
    let all = vec![given.number("a")?, given.integer("b")? as f64];
    Ok(Array::new("float64", &[2], all))
}

fn refuse(given: &Given) -> Result<Array, Error> {
    Err(Error::new("DomainError", given.text("message")?))
}

fn decline(_: &Given) -> Result<Array, Error> {
    Err(Error::not_implemented("not here"))
}

fn misfit(_: &Given) -> Result<Array, Error> {
    Ok(Array::new("float32", &[3, 2], vec![0.0; 5]))
}

fn main() {
    let claims = r#"[
        {"call": "echo"}
    ]"#;
    serve(
        "echo \"1\"",
        "1.0",
        claims,
        &[
            ("echo", echo),
            ("floats", floats),
            ("numbers", numbers),
            ("refuse", refuse),
            ("decline", decline),
            ("misfit", misfit),
        ],
    );
}
