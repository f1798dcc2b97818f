/**
 * The contracts of the local chains: their committed form is what the compiler makes of their sources. Without an
 * argument it compares; `--write` makes the committed form of each folder again after a change of a source.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { repoRoot } from "./prepare.mjs";

const require = createRequire(import.meta.url);
/** Those that every chain has, and those of one venue. */
const FOLDERS = ["chain", "venuefive"].map((room) => join(repoRoot, "bench", "sim", room, "contracts"));
const COMMITTED = "artifacts.json";
export const committedFile = (folder = FOLDERS[0]) => join(folder, COMMITTED);
/** The same bytes on every machine: no hash of metadata, and instructions that all chains know. */
const SETTINGS = {
  // The Yul optimizer takes longer than all the rest of the compiler, and gains little here.
  optimizer: { enabled: true, runs: 200, details: { yul: false } },
  evmVersion: "paris",
  metadata: { bytecodeHash: "none", appendCBOR: false },
};
const OUTPUTS = { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } };

/** @returns {Record<string, string>} the text of each source by its file name */
export function contractSources(folder = FOLDERS[0]) {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sol"))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** The committed form that these sources make, as text. Throws with what the compiler says of them. */
export function compiledContracts(sources) {
  // Loaded here only: it takes half a second.
  const solc = require("solc");
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(Object.entries(sources).map(([name, content]) => [name, { content }])),
    settings: { ...SETTINGS, outputSelection: OUTPUTS },
  };
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input)));
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  const made = Object.values(contracts)
    .flatMap((ofFile) => Object.entries(ofFile))
    // A library that is compiled into its callers, and a base of others, is no contract of its own.
    .filter(([, { abi, evm }]) => evm.bytecode.object !== "" && abi.some(({ type }) => type === "function"))
    .map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]);
  const form = {
    compiler: solc.version(),
    settings: SETTINGS,
    sources: Object.fromEntries(Object.entries(sources).map(([name, text]) => [name, sha256(text)])),
    contracts: Object.fromEntries(made.sort(([left], [right]) => (left < right ? -1 : 1))),
  };
  return `${JSON.stringify(form, null, 2)}\n`;
}

/** What differs between the committed form and that of the sources, a line each; empty where nothing does. */
export function contractProblems(sources = contractSources(), committedText = readCommitted()) {
  const committed = JSON.parse(committedText);
  const made = JSON.parse(compiledContracts(sources));
  const problems = ["compiler", "settings", "sources"]
    .filter((part) => JSON.stringify(committed[part]) !== JSON.stringify(made[part]))
    .map((part) => `${COMMITTED}: ${part} differ`);
  for (const name of new Set([...Object.keys(made.contracts), ...Object.keys(committed.contracts ?? {})])) {
    for (const part of ["abi", "bytecode"])
      if (JSON.stringify(committed.contracts?.[name]?.[part]) !== JSON.stringify(made.contracts[name]?.[part]))
        problems.push(`${COMMITTED}: ${part} of ${name} is not what its source makes`);
  }
  return problems.length === 0
    ? []
    : [...problems, "after a change of a source: node gateway/launch/contracts.mjs --write"];
}

const readCommitted = (folder = FOLDERS[0]) => readFileSync(committedFile(folder), "utf8");
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "--write") {
    for (const folder of FOLDERS) writeFileSync(committedFile(folder), compiledContracts(contractSources(folder)));
  } else {
    const problems = FOLDERS.flatMap((folder) => contractProblems(contractSources(folder), readCommitted(folder)));
    process.stdout.write(problems.map((problem) => `  ${problem}\n`).join(""));
    process.exit(problems.length === 0 ? 0 : 1);
  }
}
