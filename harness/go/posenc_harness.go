// Speaks posenc protocol 1 for a program in Go: copy this file beside yours.
//
// It needs the standard library and a Unix system. A whole program:
//
//	package main
//
//	func rope(given Given) Array {
//		x, base := given.Array("x"), given.Number("base")
//		...
//		return Array{x.Dtype, x.Shape, turned}
//	}
//
//	func main() {
//		Serve("mylib", "1.0", `[{"call": "rope", "combinations": ["half"]}]`,
//			map[string]Function{"rope": rope})
//	}
//
// It is built by: go build -o adapter adapter.go posenc_harness.go
//
// Claims are JSON, as the protocol has them. Functions are named as the calls of the specification. A
// panic is the answer to bad input. What is printed goes to standard error.

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
)

// Array has values in row-major order. A float64 holds every dtype exactly, whole numbers up to 2^53.
// They are rounded to the dtype when they are sent.
type Array struct {
	Dtype  string
	Shape  []int
	Values []float64
}

// Float32s has the values as float32.
func (array Array) Float32s() []float32 {
	found := make([]float32, len(array.Values))
	for n, value := range array.Values {
		found[n] = float32(value)
	}
	return found
}

// FromFloat32s makes an array of values that are float32.
func FromFloat32s(dtype string, shape []int, values []float32) Array {
	found := make([]float64, len(values))
	for n, value := range values {
		found[n] = float64(value)
	}
	return Array{dtype, shape, found}
}

// NotImplementedError, as a panic, says that the program does not do what it was asked: this counts as
// not claimed.
type NotImplementedError string

func (text NotImplementedError) Error() string { return string(text) }

// Given has the arguments of a call by name. To ask for one that is not given is a panic.
type Given map[string]interface{}

// Has tells whether there is such an argument.
func (given Given) Has(name string) bool { return given[name] != nil }

// Array is an argument with dtype and shape.
func (given Given) Array(name string) Array {
	found, is := given[name].(Array)
	Demand(is, "nothing is given as "+name)
	return found
}

// Number is an argument that is a number.
func (given Given) Number(name string) float64 {
	found, is := given[name].(float64)
	Demand(is, "nothing is given as "+name)
	return found
}

// Integer is an argument that is a whole number.
func (given Given) Integer(name string) int { return int(given.Number(name)) }

// Text is a convention, or the dtype of the result.
func (given Given) Text(name string) string {
	found, is := given[name].(string)
	Demand(is, "nothing is given as "+name)
	return found
}

// Function answers a call.
type Function func(Given) Array

type onTheWire struct {
	Dtype string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"` // which encoding/json has in base64
}

type request struct {
	ID        int64                      `json:"id"`
	Request   string                     `json:"request"`
	Protocol  int                        `json:"protocol"`
	Call      string                     `json:"call"`
	Arguments map[string]json.RawMessage `json:"arguments"`
}

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Serve answers requests until there are no more.
func Serve(name, version, claims string, functions map[string]Function) {
	copied, err := syscall.Dup(1)
	Demand(err == nil, "standard output is closed")
	out := os.NewFile(uintptr(copied), "answers")
	os.Stdout = os.Stderr // what is printed must not come among the answers
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var asked request
		Demand(err == nil && json.Unmarshal(line, &asked) == nil, "the request cannot be read")
		result, failed := answer(asked, name, version, claims, functions)
		said := map[string]interface{}{"id": asked.ID, "result": result}
		if failed != nil {
			said = map[string]interface{}{"id": asked.ID, "error": failed}
		}
		text, err := json.Marshal(said)
		Demand(err == nil, fmt.Sprint("the claims are not JSON: ", err))
		_, err = out.Write(append(text, '\n'))
		Demand(err == nil, "nobody listens")
		if asked.Request == "goodbye" {
			return
		}
	}
}

func answer(
	asked request, name, version, claims string, functions map[string]Function,
) (result interface{}, failed *failure) {
	defer func() {
		if reason := recover(); reason != nil {
			kind := strings.TrimPrefix(fmt.Sprintf("%T", reason), "main.")
			failed = &failure{kind, fmt.Sprint(reason)}
		}
	}()
	switch asked.Request {
	case "goodbye":
		return nil, nil
	case "describe":
		Demand(asked.Protocol == 1, "this program speaks posenc protocol 1")
		return map[string]interface{}{
			"protocol": 1, "name": name, "version": version, "language": "Go",
			"claims": json.RawMessage(claims),
		}, nil
	}
	function, found := functions[asked.Call]
	if !found {
		panic(NotImplementedError("no function has this name"))
	}
	given := Given{}
	for name, text := range asked.Arguments {
		if bytes.HasPrefix(text, []byte("{")) {
			given[name] = received(text)
			continue
		}
		var value interface{}
		Demand(json.Unmarshal(text, &value) == nil, "the request cannot be read")
		given[name] = value
	}
	return sent(function(given)), nil
}

// Demand panics unless that holds, which is the answer to bad input.
func Demand(holds bool, otherwise string) {
	if !holds {
		panic(errors.New(otherwise))
	}
}

// format is how many bytes an element has, and of a float how many bits its exponent and fraction have.
type format struct {
	bytes              int
	signed             bool
	exponent, fraction int
}

var formats = map[string]format{
	"float64": {8, true, 11, 52}, "float32": {4, true, 8, 23},
	"bfloat16": {2, true, 8, 7}, "float16": {2, true, 5, 10},
	"int64": {8, true, 0, 0}, "int32": {4, true, 0, 0}, "int16": {2, true, 0, 0}, "int8": {1, true, 0, 0},
	"uint64": {8, false, 0, 0}, "uint32": {4, false, 0, 0}, "uint16": {2, false, 0, 0},
	"uint8": {1, false, 0, 0}, "bool": {1, false, 0, 0},
}

const exact = 1 << 53

func received(text []byte) Array {
	var wired onTheWire
	Demand(json.Unmarshal(text, &wired) == nil, "the array cannot be read")
	is, known := formats[wired.Dtype]
	Demand(known, wired.Dtype+" is no dtype")
	values := make([]float64, len(wired.Data)/is.bytes)
	for n := range values {
		var element [8]byte
		copy(element[:], wired.Data[n*is.bytes:(n+1)*is.bytes])
		values[n] = is.value(binary.LittleEndian.Uint64(element[:]))
	}
	return Array{wired.Dtype, wired.Shape, values}
}

func sent(array Array) onTheWire {
	is, known := formats[array.Dtype]
	Demand(known, array.Dtype+" is no dtype")
	count := 1
	for _, length := range array.Shape {
		count *= length
	}
	misfit := fmt.Sprintf("%d values are not of the shape %v", len(array.Values), array.Shape)
	Demand(count == len(array.Values), misfit)
	data := make([]byte, 0, count*is.bytes)
	for _, value := range array.Values {
		var element [8]byte
		binary.LittleEndian.PutUint64(element[:], is.bits(value))
		data = append(data, element[:is.bytes]...)
	}
	return onTheWire{array.Dtype, append([]int{}, array.Shape...), data}
}

func (is format) value(bits uint64) float64 {
	if is.exponent == 0 {
		spare := 64 - 8*is.bytes
		value := float64(bits)
		if is.signed {
			value = float64(int64(bits<<spare) >> spare)
		}
		Demand(math.Abs(value) <= exact, "a whole number is larger than 2^53")
		return value
	}
	largest := 1<<is.exponent - 1
	exponent := int(bits>>is.fraction) & largest
	fraction := bits & (1<<is.fraction - 1)
	if exponent > 0 {
		fraction += 1 << is.fraction
	}
	power := exponent - largest/2 - is.fraction
	if exponent == 0 {
		power++
	}
	value := math.Ldexp(float64(fraction), power)
	if exponent == largest {
		value = math.Inf(1)
		if fraction != 1<<is.fraction {
			value = math.NaN()
		}
	}
	if bits>>(8*is.bytes-1) == 1 {
		value = math.Copysign(value, -1)
	}
	return value
}

// bits rounds to the nearest value of the dtype, and of two to the even one.
func (is format) bits(value float64) uint64 {
	if is.exponent == 0 {
		whole := math.Abs(value) <= exact && value == math.Trunc(value)
		Demand(whole, "a whole number was expected, of at most 2^53")
		return uint64(int64(value))
	}
	bias := 1<<(is.exponent-1) - 1
	infinity := uint64(1<<is.exponent-1) << is.fraction
	sign := uint64(0)
	if math.Signbit(value) {
		sign = 1 << (8*is.bytes - 1)
	}
	switch {
	case math.IsNaN(value):
		return sign | infinity | 1<<(is.fraction-1)
	case math.IsInf(value, 0):
		return sign | infinity
	case value == 0:
		return sign
	}
	exponent := math.Ilogb(value)
	if exponent < 1-bias {
		exponent = 1 - bias
	}
	units := math.RoundToEven(math.Ldexp(math.Abs(value), is.fraction-exponent))
	stored := uint64(exponent+bias-1)<<is.fraction + uint64(units) // with the bit that is not stored
	if stored > infinity || exponent > bias {
		stored = infinity
	}
	return sign | stored
}
