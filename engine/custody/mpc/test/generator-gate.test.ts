/**
 * The system's generator is the only one outside tests (docs/mpc.md, duty 44): a gate over the sources. No other object
 * is one, the processes of both parties name that one themselves, and nothing of custody draws from `Math.random`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const FOLDERS = ["engine/custody", "gateway"];
/** Where the generator of a process is chosen; everywhere else it is handed on. */
const CHOSEN_IN = [
  "engine/custody/provider/runner-ports.ts",
  "gateway/app/custody.ts",
  "gateway/cli/custody-commands.ts",
  "gateway/cli/restore-wallet.ts",
  "gateway/cosigner/cosigner.ts",
  "gateway/demo/throwaway-custody.ts",
];
const CUSTODY = /^(engine\/custody|gateway\/(custody|cosigner|children)|gateway\/admin\/wallet)/;

interface Source {
  readonly path: string;
  readonly text: string;
}

function sources(): readonly Source[] {
  const entries = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }),
  );
  return entries
    .filter((entry) => entry.isFile() && /(?<!\.test)(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !/\/test\//.test(path) && !path.startsWith("gateway/dist"))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** Generators that a source makes, beside the prefix before another one's labels. */
const made = (text: string): readonly string[] =>
  [
    ...text.matchAll(
      /:\s*RandomSource\s*=(?!>)|\bimplements\s+[^{]*RandomSource\b|\bfill\s*(?::\s*)?\(\s*_?label\b[^)]*\)\s*(?::\s*\w+\s*)?(?:\{|=>(?!\s*random\.fill\())/g,
    ),
  ].map(([found]) => found);

describe("the gate against another generator", () => {
  it.each([
    "const dead: RandomSource = { fill: () => {} };",
    "export const seeded = { fill(label, target) { target.fill(7); } };",
    "return { fill: (_label: string, target: Uint8Array) => target.fill(0) };",
    "class Seeded implements RandomSource {",
  ])("finds %s", (text) => {
    expect(made(text)).not.toEqual([]);
  });

  it("lets a prefix before labels pass", () => {
    expect(made("return { fill: (label, target) => random.fill(prefix + label, target) };")).toEqual([]);
  });

  it("finds the system's alone, chosen where a process begins and nowhere else", () => {
    const all = sources();
    expect(all.length).toBeGreaterThan(400);
    expect(all.filter(({ text }) => made(text).length > 0).map(({ path }) => path)).toEqual([
      "engine/custody/mpc/base/random.ts",
    ]);
    const ofCustody = all.filter(({ text }) =>
      /import .*\bsystemRandom\b.*custody\/mpc\/base|import \{ systemRandom \} from "\.\.\/mpc\/base/.test(text),
    );
    expect(ofCustody.map(({ path }) => path).sort()).toEqual(CHOSEN_IN);
  });

  it("finds no draw of custody from Math.random or the generator of pauses, but those of reconnection", () => {
    const weak = sources().filter(
      ({ path, text }) => CUSTODY.test(path) && /Math\.random\(|domain\/random\.js/.test(text),
    );
    // Pauses between two tries to connect.
    expect(weak.map(({ path }) => path)).toEqual(["gateway/custody/link-client.ts"]);
  });
});
