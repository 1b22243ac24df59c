// go run rope.go rope.float32.json
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
)

type array struct {
	Shape  []int
	Values []float64
}

type vector struct {
	ID, Call    string
	Conventions map[string]string
	Arguments   struct {
		X, Positions array
		Base         float64
	}
	Elements [][3]float64
}

// Ours, which is judged: pairs of channels t and t + dim / 2, all in float32.
func rope(x, positions array, base float64) []float32 {
	out := make([]float32, len(x.Values))
	dim := x.Shape[len(x.Shape)-1]
	for row := 0; row < len(out)/dim; row++ {
		for t := 0; t < dim/2; t++ {
			first, second := row*dim+t, row*dim+t+dim/2
			position := float32(positions.Values[row%len(positions.Values)])
			angle := position * float32(math.Pow(base, -2*float64(t)/float64(dim)))
			sin, cos := math.Sincos(float64(angle))
			a, b := float32(x.Values[first]), float32(x.Values[second])
			out[first] = a*float32(cos) - b*float32(sin)
			out[second] = b*float32(cos) + a*float32(sin)
		}
	}
	return out
}

func main() {
	content, _ := os.ReadFile(os.Args[1])
	var file struct{ Cases []vector }
	if problem := json.Unmarshal(content, &file); problem != nil {
		panic(problem)
	}
	judged, wrong := 0, 0
	for _, each := range file.Cases {
		_, partial := each.Conventions["rotation"]
		if each.Call != "rope" || each.Conventions["layout"] != "half" || partial {
			continue
		}
		got := rope(each.Arguments.X, each.Arguments.Positions, each.Arguments.Base)
		for _, element := range each.Elements {
			index, expected, allowed := int(element[0]), element[1], element[2]
			judged++
			if !(math.Abs(float64(got[index])-expected) <= allowed) {
				fmt.Println(each.ID, element, "got", got[index])
				wrong++
			}
		}
	}
	fmt.Println(judged, "elements judged,", wrong, "wrong")
	if judged == 0 || wrong > 0 {
		os.Exit(1)
	}
}
