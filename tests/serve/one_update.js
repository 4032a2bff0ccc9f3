// node one_update.js CASE.json: reads a network, a batch and settings, and prints what one update makes of them.

import { readFileSync } from "node:fs";
import { Adam } from "./engine/adam.js";
import { Memory } from "./engine/memory.js";
import { Network } from "./engine/network.js";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const memory = new Memory(given.plain);
const network = new Network(memory, given.settings, given.words, Math.random);
for (const [name, { value }] of network.parameters) value.set(given.weights[name]);
const batch = Object.fromEntries(Object.entries(given.batch).map(([name, numbers]) => [name, Int32Array.from(numbers)]));
const all = (what) => Object.fromEntries([...network.parameters].map(([name, parameter]) => [name, [...parameter[what]]]));

const before = network.addGradients(batch);
const gradients = all("grad");
const norm = new Adam(memory, network.parameters, given.adam).update();
const translated = network.translate(batch, 0, given.longest);
const losses = [before, network.addGradients(batch)];
process.stdout.write(JSON.stringify({ losses, gradients, norm, weights: all("value"), translated, simd: Boolean(memory.multiplyAdd) }));
