// Returns its arguments through the harness.

package main

import "fmt"

// DomainError is an error of the library's own.
type DomainError string

func main() {
	Serve("echo \"1\"", "1.0", `[
		{"call": "echo"}
	]`, map[string]Function{
		"echo": func(given Given) Array {
			x := given.Array("x")
			fmt.Println("hello")
			fmt.Print("world")
			return Array{given.Text("dtype"), x.Shape, x.Values}
		},
		"floats": func(given Given) Array {
			x := given.Array("x")
			return FromFloat32s("float32", x.Shape, x.Float32s())
		},
		"numbers": func(given Given) Array {
			return Array{"float64", []int{2}, []float64{given.Number("a"), float64(given.Integer("b"))}}
		},
		"refuse":  func(given Given) Array { panic(DomainError(given.Text("message"))) },
		"decline": func(given Given) Array { panic(NotImplementedError("not here")) },
		"misfit":  func(given Given) Array { return Array{"float32", []int{3, 2}, make([]float64, 5)} },
	})
}
