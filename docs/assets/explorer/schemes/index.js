/** Every call of the explorer, under its name in the specification. */
export * from "./alibi.js";
export * from "./binary.js";
export * from "./dynamic-ntk.js";
export * from "./integer.js";
export * from "./llama3.js";
export * from "./longrope.js";
export * from "./normalized.js";
export * from "./ntk-aware.js";
export * from "./p-rope.js";
export * from "./position-interpolation.js";
export * from "./rope.js";
export * from "./sincos-2d.js";
export * from "./sinusoidal.js";
export * from "./t5-bias.js";
export * from "./timestep.js";
export * from "./yarn.js";
