import calendar

from pictures.picture import COLOURS, Picture, axes
from references import references

LANES = {
    "input": ("vaswani2017", "devlin2019", "dosovitskiy2021", "mildenhall2020"),
    "relative vectors": ("shaw2018", "huang2018", "dai2019", "he2021", "ke2021"),
    "biases": ("raffel2020", "press2022", "chi2022", "li2024"),
    "rotation": ("su2021", "sun2022", "fang2023", "barbero2024"),
    "longer contexts": ("chen2023", "peng2023", "ding2024", "dubey2024"),
    "content, or none": ("haviv2022", "kazemnejad2023", "golovneva2024"),
    "convolutions": ("mohamed2019", "baevski2020", "chu2021"),
    "patterns": ("child2019", "beltagy2020", "zaheer2020", "jiang2023"),
}
NAMES = {
    "vaswani2017": "sinusoid", "devlin2019": "learned", "dosovitskiy2021": "ViT",
    "mildenhall2020": "NeRF", "shaw2018": "Shaw", "huang2018": "Music", "dai2019": "XL",
    "he2021": "DeBERTa", "ke2021": "TUPE", "raffel2020": "T5", "press2022": "ALiBi",
    "chi2022": "KERPLE", "li2024": "FIRE", "su2021": "RoPE", "sun2022": "xPos",
    "fang2023": "2-D", "barbero2024": "p-RoPE", "chen2023": "PI", "peng2023": "YaRN",
    "ding2024": "LongRoPE", "dubey2024": "Llama 3.1", "haviv2022": "none",
    "kazemnejad2023": "compared", "golovneva2024": "CoPE", "mohamed2019": "speech",
    "baevski2020": "wav2vec 2.0",
    "chu2021": "CPVT", "child2019": "strided", "beltagy2020": "Longformer",
    "zaheer2020": "Big Bird", "jiang2023": "Mistral",
}  # fmt: skip
BELOW = {
    "huang2018",
    "ke2021",
    "peng2023",
    "dubey2024",
    "zaheer2020",
    "dosovitskiy2021",
    "chu2021",
}


def _year(key: str) -> float:
    number = references()[key].arxiv or ""
    return 2000 + int(number[:2]) + (int(number[2:4]) - 0.5) / len(calendar.month_name[1:])


def timeline() -> Picture:
    """When each scheme appeared, by what it works on"""
    figure, plot = axes(height=4.8)
    for lane, keys in enumerate(LANES.values()):
        colour = COLOURS[lane]
        years = [_year(key) for key in keys]
        plot.plot([min(years), max(years)], [-lane, -lane], color=colour, linewidth=1)
        plot.plot(years, [-lane] * len(years), "o", color=colour, markersize=5)
        for key, year in zip(keys, years, strict=True):
            down = key in BELOW
            plot.annotate(
                NAMES[key], (year, -lane), xytext=(0, -6 if down else 6), ha="center",
                va="top" if down else "bottom", textcoords="offset points", fontsize=8,
            )  # fmt: skip
    plot.set(
        yticks=[-lane for lane in range(len(LANES))],
        yticklabels=list(LANES),
        xticks=range(2017, 2026),
        xlim=(2017, 2025.2),
        ylim=(-len(LANES) + 0.4, 0.7),
    )
    plot.tick_params(axis="y", length=0)
    plot.spines["left"].set_visible(False)
    return Picture(
        figure,
        "Eight rows of dots over the years 2017 to 2025. The input row begins with the sinusoid in "
        "June 2017. Relative vectors lie between 2018 and 2020, biases between 2019 and 2023, "
        "rotation from 2021 on, methods for longer contexts in 2023 and 2024, and encodings by "
        "content, or none at all, from 2022 on. Convolutions and patterns run beside them.",
        "Months are from the papers' numbers at arXiv.",
        diagram=True,
    )
