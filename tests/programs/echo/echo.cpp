// Returns its arguments through the harness.

#include "posenc_harness.hpp"

using posenc::Array, posenc::Given;

int main() {
  posenc::serve("echo \"1\"", "1.0", R"([
    {"call": "echo"}
  ])", {
    {"echo", [](const Given& given) {
       std::cout << "hello" << std::endl;
       std::printf("world\n");
       const Array& x = given.array("x");
       return Array{given.text("dtype"), x.shape, x.values};
     }},
    {"floats", [](const Given& given) {
       const Array& x = given.array("x");
       return Array{"float32", x.shape, x.as<float>()};
     }},
    {"numbers", [](const Given& given) {
       const std::vector<double> all = {given.number("a"), double(given.integer("b"))};
       return Array{"float64", {all.size()}, all};
     }},
    {"refuse", [](const Given& given) -> Array { throw std::domain_error(given.text("message")); }},
    {"decline", [](const Given&) -> Array { throw posenc::NotImplementedError("not here"); }},
    {"misfit", [](const Given&) { return Array{"float32", {3, 2}, std::vector<float>(5)}; }},
  });
}
