import static posenc.PosencHarness.*;

import posenc.PosencHarness;

class Adapter {
    static Array sinusoidal(Given given) {
        int dim = given.integer("dim"), rows = given.array("positions").values().length;
        demand(dim >= 2 && dim % 2 == 0, "dim must be even");
        double[] positions = given.array("positions").values(), out = new double[rows * dim];
        for (int k = 0; k < out.length; k++) {
            double angle = Math.pow(given.number("base"), -(k % dim / 2 * 2.0) / dim) * positions[k / dim];
            out[k] = k % 2 == 0 ? Math.sin(angle) : Math.cos(angle);
        }
        return new Array(given.text("dtype"), new int[] {rows, dim}, out);
    }
    static Array rope(Given given) {
        Array x = given.array("x");
        double[] positions = given.array("positions").values(), v = x.values();
        int rows = x.shape()[x.shape().length - 2], dim = x.shape()[x.shape().length - 1];
        demand(dim % 2 == 0 && rows == positions.length, "no pairs, or no positions");
        for (int k = 0; k < v.length; k += 2) {
            double a = v[k], b = v[k + 1], omega = Math.pow(given.number("base"), -(double) (k % dim) / dim);
            double angle = positions[k / dim % rows] * omega;
            v[k] = a * Math.cos(angle) - b * Math.sin(angle);
            v[k + 1] = a * Math.sin(angle) + b * Math.cos(angle);
        }
        return x;
    }
    public static void main(String[] arguments) {
        PosencHarness.serve("my Java library", "1.0", """
            [{"call": "sinusoidal", "combinations": ["paper"]}, {"call": "rope", "combinations": ["interleaved"],
              "dtype": ["float64", "float32", "bfloat16", "float16"]}]""",
            java.util.Map.of("sinusoidal", Adapter::sinusoidal, "rope", Adapter::rope));
    }
}
