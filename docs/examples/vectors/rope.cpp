// g++ -O2 -o rope rope.cpp && ./rope rope.float32.txt
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Array { std::vector<size_t> shape; std::vector<double> values; };

// Ours, which is judged: pairs of channels t and t + dim / 2, all in float32.
std::vector<float> rope(const Array& x, const Array& positions, double base) {
    std::vector<float> out(x.values.size());
    size_t dim = x.shape.back();
    for (size_t row = 0; row < out.size() / dim; row++)
        for (size_t t = 0; t < dim / 2; t++) {
            size_t first = row * dim + t, second = first + dim / 2;
            float position = positions.values[row % positions.values.size()];
            float angle = position * float(std::pow(base, -2.0 * t / dim));
            float a = x.values[first], b = x.values[second];
            out[first] = a * std::cos(angle) - b * std::sin(angle);
            out[second] = b * std::cos(angle) + a * std::sin(angle);
        }
    return out;
}

int main(int, char** arguments) {
    std::ifstream file(arguments[1]);
    std::map<std::string, std::string> said;
    std::map<std::string, Array> given;
    std::vector<float> got;
    int judged = 0, wrong = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word, name, dtype;
        words >> word >> name;
        if (word == "case") said = {{"case", name}}, got.clear();
        if (word == "call") said[word] = name;
        if (word == "convention" || word == "real") words >> said[name];
        if (word == "array") {
            size_t axes;
            words >> dtype >> axes;
            given[name] = {std::vector<size_t>(axes), {}};
            for (size_t& length : given[name].shape) words >> length;
            for (double value; words >> value;) given[name].values.push_back(value);
        }
        if (word == "shape" && said["call"] == "rope" && said["layout"] == "half" && !said.count("rotation"))
            got = rope(given["x"], given["positions"], std::stod(said["base"]));
        if (word == "element" && !got.empty()) {
            double expected, allowed;
            words >> expected >> allowed;
            judged++;
            if (!(std::abs(got[std::stoul(name)] - expected) <= allowed)) {
                std::cout << said["case"] << ": " << line << ", got " << got[std::stoul(name)] << "\n";
                wrong++;
            }
        }
    }
    std::cout << judged << " elements judged, " << wrong << " wrong\n";
    return judged == 0 || wrong > 0;
}
