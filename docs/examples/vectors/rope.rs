// rustc -O -o rope rope.rs && ./rope rope.float32.txt
use std::collections::HashMap;

#[derive(Clone, Default)]
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

// Ours, which is judged: pairs of channels t and t + dim / 2, all in float32.
fn rope(x: &Array, positions: &Array, base: f64) -> Vec<f32> {
    let dim = *x.shape.last().unwrap();
    let mut out = vec![0.0; x.values.len()];
    for row in 0..out.len() / dim {
        for t in 0..dim / 2 {
            let (first, second) = (row * dim + t, row * dim + t + dim / 2);
            let position = positions.values[row % positions.values.len()] as f32;
            let angle = position * base.powf(-2.0 * t as f64 / dim as f64) as f32;
            let (a, b) = (x.values[first] as f32, x.values[second] as f32);
            out[first] = a * angle.cos() - b * angle.sin();
            out[second] = b * angle.cos() + a * angle.sin();
        }
    }
    out
}

fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let (mut said, mut given) = (HashMap::new(), HashMap::new());
    let (mut got, mut judged, mut wrong) = (vec![], 0, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "case" => (said, got) = (HashMap::from([("case", words[1])]), vec![]),
            "call" => { said.insert("call", words[1]); }
            "convention" | "real" => { said.insert(words[1], words[2]); }
            "array" => {
                let axes: usize = words[3].parse().unwrap();
                let shape = words[4..4 + axes].iter().map(|word| word.parse().unwrap()).collect();
                let values = words[4 + axes..].iter().map(|word| word.parse().unwrap()).collect();
                given.insert(words[1], Array { shape, values });
            }
            "shape" if said["call"] == "rope" && said["layout"] == "half" && !said.contains_key("rotation") =>
                got = rope(&given["x"], &given["positions"], said["base"].parse().unwrap()),
            "element" if !got.is_empty() => {
                let index: usize = words[1].parse().unwrap();
                let (expected, allowed): (f64, f64) = (words[2].parse().unwrap(), words[3].parse().unwrap());
                judged += 1;
                if !((got[index] as f64 - expected).abs() <= allowed) {
                    println!("{}: {}, got {}", said["case"], line, got[index]);
                    wrong += 1;
                }
            }
            _ => {}
        }
    }
    println!("{} elements judged, {} wrong", judged, wrong);
    std::process::exit((judged == 0 || wrong > 0) as i32);
}
