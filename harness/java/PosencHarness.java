// Speaks posenc protocol 1 for a program in Java: copy this file beside yours.
//
// It needs Java 17 and nothing else. A whole program:
//
//     import static posenc.PosencHarness.*;
//
//     import posenc.PosencHarness;
//     import java.util.Map;
//
//     class Adapter {
//         static Array rope(Given given) {
//             Array x = given.array("x");
//             double base = given.number("base");
//             ...
//             return new Array(x.dtype(), x.shape(), turned);
//         }
//
//         public static void main(String[] arguments) {
//             PosencHarness.serve("mylib", "1.0", """
//                 [{"call": "rope", "combinations": ["half"]}]
//                 """, Map.of("rope", Adapter::rope));
//         }
//     }
//
// It is built by: javac -d classes adapter.java PosencHarness.java
// and run by:     java -cp classes Adapter
//
// Claims are JSON, as the protocol has them. Functions are named as the calls of the specification.
// What a function throws is the answer to bad input. What is printed goes to standard error.

package posenc;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;

/** The conversation with the kit. */
public final class PosencHarness {
    /**
     * Values in row-major order. A double holds every dtype exactly, whole numbers up to 2^53. They are
     * rounded to the dtype when they are sent.
     */
    public record Array(String dtype, int[] shape, double[] values) {
        /** An array of values that are floats. */
        public static Array of(String dtype, int[] shape, float[] values) {
            double[] found = new double[values.length];
            for (int n = 0; n < values.length; n++) found[n] = values[n];
            return new Array(dtype, shape, found);
        }

        /** The values as floats. */
        public float[] floats() {
            float[] found = new float[values.length];
            for (int n = 0; n < values.length; n++) found[n] = (float) values[n];
            return found;
        }
    }

    /** The arguments of a call by name. To ask for one that is not given is an exception. */
    public record Given(Map<String, Object> arguments) {
        /** Whether there is such an argument. */
        public boolean has(String name) {
            return arguments.get(name) != null;
        }

        /** An argument with dtype and shape. */
        public Array array(String name) {
            return as(Array.class, name);
        }

        /** An argument that is a number. */
        public double number(String name) {
            return as(Double.class, name);
        }

        /** An argument that is a whole number. */
        public int integer(String name) {
            return (int) number(name);
        }

        /** A convention, or the dtype of the result. */
        public String text(String name) {
            return as(String.class, name);
        }

        private <T> T as(Class<T> type, String name) {
            Object found = arguments.get(name);
            demand(type.isInstance(found), "nothing is given as " + name);
            return type.cast(found);
        }
    }

    /** Answers a call. */
    public interface Function {
        Array answer(Given given);
    }

    /** Says that the program does not do what it was asked: this counts as not claimed. */
    public static class NotImplementedError extends RuntimeException {
        private static final long serialVersionUID = 1;

        public NotImplementedError(String message) {
            super(message);
        }
    }

    private static final double EXACT = 0x1p53;
    private static final Map<String, Format> FORMATS = new HashMap<>();

    static {
        FORMATS.put("float64", new Format(8, true, 11, 52));
        FORMATS.put("float32", new Format(4, true, 8, 23));
        FORMATS.put("bfloat16", new Format(2, true, 8, 7));
        FORMATS.put("float16", new Format(2, true, 5, 10));
        for (int bytes = 1; bytes <= 8; bytes *= 2) {
            FORMATS.put("int" + 8 * bytes, new Format(bytes, true, 0, 0));
            FORMATS.put("uint" + 8 * bytes, new Format(bytes, false, 0, 0));
        }
        FORMATS.put("bool", new Format(1, false, 0, 0));
    }

    private PosencHarness() {}

    /** Answers requests until there are no more. */
    public static void serve(String name, String version, String claims, Map<String, Function> functions) {
        PrintStream out = new PrintStream(
                new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what is printed must not come among the answers
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8).useDelimiter("\n");
        while (in.hasNext()) {
            String line = in.next();
            Map<?, ?> asked = (Map<?, ?>) new Json(line).value();
            String said;
            try {
                said = "\"result\": " + answer(asked, name, version, claims, functions);
            } catch (RuntimeException | StackOverflowError | OutOfMemoryError error) {
                said = "\"error\": {\"type\": " + Json.quoted(error.getClass().getSimpleName())
                        + ", \"message\": " + Json.quoted(String.valueOf(error.getMessage())) + "}";
            }
            long id = ((Double) asked.get("id")).longValue();
            out.print("{\"id\": " + id + ", " + said.replace("\n", " ") + "}\n");
            out.flush();
            if (asked.get("request").equals("goodbye")) return;
        }
    }

    /** Throws unless that holds, which is the answer to bad input. */
    public static void demand(boolean holds, String otherwise) {
        if (!holds) throw new IllegalArgumentException(otherwise);
    }

    private static String answer(
            Map<?, ?> asked, String name, String version, String claims,
            Map<String, Function> functions) {
        if (asked.get("request").equals("goodbye")) return "null";
        if (asked.get("request").equals("describe")) {
            boolean known = Double.valueOf(1).equals(asked.get("protocol"));
            demand(known, "this program speaks posenc protocol 1");
            return "{\"protocol\": 1, \"name\": " + Json.quoted(name) + ", \"version\": "
                    + Json.quoted(version) + ", \"language\": \"Java\", \"claims\": " + claims + "}";
        }
        Function function = functions.get(asked.get("call"));
        if (function == null) throw new NotImplementedError("no function has this name");
        Map<String, Object> given = new HashMap<>();
        for (Map.Entry<?, ?> each : ((Map<?, ?>) asked.get("arguments")).entrySet()) {
            Object value = each.getValue();
            Object read = value instanceof Map<?, ?> array ? received(array) : value;
            given.put((String) each.getKey(), read);
        }
        return sent(function.answer(new Given(given)));
    }

    private static Array received(Map<?, ?> wired) {
        String dtype = (String) wired.get("dtype");
        Format format = FORMATS.get(dtype);
        demand(format != null, dtype + " is no dtype");
        List<?> lengths = (List<?>) wired.get("shape");
        int[] shape = lengths.stream().mapToInt(n -> ((Double) n).intValue()).toArray();
        byte[] data = Base64.getDecoder().decode((String) wired.get("data"));
        double[] values = new double[data.length / format.bytes];
        ByteBuffer element = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
        for (int n = 0; n < values.length; n++) {
            System.arraycopy(data, n * format.bytes, element.array(), 0, format.bytes);
            values[n] = format.value(element.getLong(0));
        }
        return new Array(dtype, shape, values);
    }

    private static String sent(Array array) {
        Format format = FORMATS.get(array.dtype());
        demand(format != null, array.dtype() + " is no dtype");
        long count = Arrays.stream(array.shape()).asLongStream().reduce(1, (a, b) -> a * b);
        String shape = Arrays.toString(array.shape());
        String misfit = array.values().length + " values are not of the shape " + shape;
        demand(count == array.values().length, misfit);
        byte[] data = new byte[array.values().length * format.bytes];
        ByteBuffer element = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
        for (int n = 0; n < array.values().length; n++) {
            element.putLong(0, format.bits(array.values()[n]));
            System.arraycopy(element.array(), 0, data, n * format.bytes, format.bytes);
        }
        return "{\"dtype\": " + Json.quoted(array.dtype()) + ", \"shape\": " + shape
                + ", \"data\": \"" + Base64.getEncoder().encodeToString(data) + "\"}";
    }

    /** How many bytes an element has, and of a float how many bits its exponent and fraction have. */
    private record Format(int bytes, boolean signed, int exponent, int fraction) {
        double value(long bits) {
            if (exponent == 0) {
                int spare = 64 - 8 * bytes;
                boolean small = signed || bytes < 8 || bits >= 0;
                double value = signed ? (bits << spare) >> spare : (bits << spare) >>> spare;
                demand(small && Math.abs(value) <= EXACT, "a whole number is larger than 2^53");
                return value;
            }
            if (bytes == 8) return Double.longBitsToDouble(bits);
            int largest = (1 << exponent) - 1;
            int power = (int) (bits >> fraction) & largest;
            long units = bits & ((1L << fraction) - 1);
            double size;
            if (power == largest) {
                size = units == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
            } else if (power == 0) {
                size = Math.scalb((double) units, 1 - largest / 2 - fraction);
            } else {
                size = Math.scalb((double) (units + (1L << fraction)), power - largest / 2 - fraction);
            }
            return (bits >> (8 * bytes - 1) & 1) == 1 ? -size : size;
        }

        /** Rounds to the nearest value of the dtype, and of two to the even one. */
        long bits(double value) {
            if (exponent == 0) {
                boolean whole = Math.abs(value) <= EXACT && value == Math.rint(value);
                demand(whole, "a whole number was expected, of at most 2^53");
                return (long) value;
            }
            if (bytes == 8) return Double.doubleToRawLongBits(value);
            int bias = (1 << (exponent - 1)) - 1;
            long infinity = ((1L << exponent) - 1) << fraction;
            long sign = Double.doubleToRawLongBits(value) < 0 ? 1L << (8 * bytes - 1) : 0;
            if (Double.isNaN(value)) return sign | infinity | 1L << (fraction - 1);
            if (Double.isInfinite(value)) return sign | infinity;
            if (value == 0) return sign;
            int power = Math.max(Math.getExponent(value), 1 - bias);
            if (power > bias) return sign | infinity;
            long units = (long) Math.rint(Math.scalb(Math.abs(value), fraction - power));
            // The bit of the units that is not stored adds one to the power.
            long stored = ((long) (power + bias - 1) << fraction) + units;
            return sign | Math.min(stored, infinity);
        }
    }

    /** Reads one value: a map, a list, a string, a double, true, false or null. */
    private static final class Json {
        private final String text;
        private int at;

        Json(String text) {
            this.text = text;
        }

        static String quoted(String text) {
            StringBuilder out = new StringBuilder("\"");
            for (char each : text.toCharArray()) {
                if (each == '"' || each == '\\') out.append('\\').append(each);
                else if (each < ' ' || each > '~') out.append(String.format("\\u%04x", (int) each));
                else out.append(each);
            }
            return out.append('"').toString();
        }

        Object value() {
            char first = next();
            if (first == '{') return map();
            if (first == '[') return list();
            if (first == '"') return string();
            int start = at - 1;
            while (at < text.length() && ",]} \t\r".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            return switch (word) {
                case "null" -> null;
                case "true" -> Boolean.TRUE;
                case "false" -> Boolean.FALSE;
                default -> Double.valueOf(word);
            };
        }

        private Map<String, Object> map() {
            Map<String, Object> found = new HashMap<>();
            for (char each = next(); each != '}'; each = next()) {
                if (each == ',') continue;
                String name = string();
                demand(next() == ':', "the request cannot be read");
                found.put(name, value());
            }
            return found;
        }

        private List<Object> list() {
            List<Object> found = new ArrayList<>();
            for (char each = next(); each != ']'; each = next()) {
                if (each != ',') at--;
                found.add(value());
            }
            return found;
        }

        private String string() {
            StringBuilder out = new StringBuilder();
            for (char each = text.charAt(at++); each != '"'; each = text.charAt(at++)) {
                if (each != '\\') {
                    out.append(each);
                    continue;
                }
                char escaped = text.charAt(at++);
                switch (escaped) {
                    case 'b' -> out.append('\b');
                    case 'f' -> out.append('\f');
                    case 'n' -> out.append('\n');
                    case 'r' -> out.append('\r');
                    case 't' -> out.append('\t');
                    case 'u' -> {
                        out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                        at += 4;
                    }
                    default -> out.append(escaped);
                }
            }
            return out.toString();
        }

        private char next() {
            while (" \t\r".indexOf(text.charAt(at)) >= 0) at++;
            return text.charAt(at++);
        }
    }
}
