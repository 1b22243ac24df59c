// Returns its arguments through the harness.

import static posenc.PosencHarness.*;

import java.util.Map;

class Adapter {
    /** An error of the library's own. */
    static class DomainError extends RuntimeException {
        private static final long serialVersionUID = 1;

        DomainError(String message) {
            super(message);
        }
    }

    static Array echo(Given given) {
        Array x = given.array("x");
        System.out.println("hello");
        System.out.print("world");
        return new Array(given.text("dtype"), x.shape(), x.values());
    }

    static Array refuse(Given given) {
        throw new DomainError(given.text("message"));
    }

    static Array decline(Given given) {
        throw new NotImplementedError("not here");
    }

    public static void main(String[] arguments) {
        serve("echo \"1\"", "1.0", """
            [
                {"call": "echo"}
            ]
            """, Map.of(
                "echo", Adapter::echo,
                "floats", given -> Array.of("float32", given.array("x").shape(), given.array("x").floats()),
                "numbers", given -> new Array(
                    "float64", new int[] {2}, new double[] {given.number("a"), given.number("b")}),
                "refuse", Adapter::refuse,
                "decline", Adapter::decline,
                "misfit", given -> new Array("float32", new int[] {3, 2}, new double[5])));
    }
}
