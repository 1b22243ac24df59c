package main

import "math"

func sinusoidal(given Given) Array {
	positions, dim, out := given.Array("positions").Values, given.Integer("dim"), []float64{}
	Demand(dim >= 2 && dim%2 == 0, "dim must be even")
	for _, position := range positions {
		for t := 0; t < dim; t += 2 {
			angle := position * math.Pow(given.Number("base"), -float64(t)/float64(dim))
			out = append(out, math.Sin(angle), math.Cos(angle))
		}
	}
	return Array{given.Text("dtype"), []int{len(positions), dim}, out}
}

func rope(given Given) Array {
	x, positions := given.Array("x"), given.Array("positions").Values
	rows, dim, v := x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1], x.Values
	Demand(dim%2 == 0 && rows == len(positions), "no pairs, or no positions")
	for k := 0; k < len(v); k += 2 {
		a, b, omega := v[k], v[k+1], math.Pow(given.Number("base"), -float64(k%dim)/float64(dim))
		angle := positions[k/dim%rows] * omega
		v[k], v[k+1] = a*math.Cos(angle)-b*math.Sin(angle), a*math.Sin(angle)+b*math.Cos(angle)
	}
	return x
}

func main() {
	Serve("my Go library", "1.0", `[
		{"call": "sinusoidal", "combinations": ["paper"], "dtype": ["float64", "float32"]},
		{"call": "rope", "combinations": ["interleaved"], "dtype": ["float64", "float32", "bfloat16", "float16"]}
	]`, map[string]Function{"sinusoidal": sinusoidal, "rope": rope})
}
