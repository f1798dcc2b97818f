/**
 * The contracts of the local chains: their committed form is what the compiler makes of their sources. Without an
 * argument it compares; `--write` makes the committed form anew after a change of a source.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { repoRoot } from "./prepare.mjs";

const require = createRequire(import.meta.url);
const FOLDER = join(repoRoot, "bench", "sim", "chain", "contracts");
const COMMITTED = "artifacts.json";
export const COMMITTED_FILE = join(FOLDER, COMMITTED);
/** The same bytes on every machine: no hash of metadata, and instructions that all chains know. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: "paris",
  metadata: { bytecodeHash: "none", appendCBOR: false },
};
const OUTPUTS = { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } };

/** @returns {Record<string, string>} the text of each source by its file name */
export function contractSources() {
  const names = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sol"))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]));
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
    // A library that is compiled into its callers is no contract of its own.
    .filter(([, { abi }]) => abi.some(({ type }) => type === "function"))
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

const readCommitted = () => readFileSync(COMMITTED_FILE, "utf8");
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "--write") writeFileSync(COMMITTED_FILE, compiledContracts(contractSources()));
  else {
    const problems = contractProblems();
    process.stdout.write(problems.map((problem) => `  ${problem}\n`).join(""));
    process.exit(problems.length === 0 ? 0 : 1);
  }
}
