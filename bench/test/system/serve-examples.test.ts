/**
 * The examples of README and docs/api-keys.md in shell and TypeScript, taken from their text and run against `npm run serve` as a process:
 * `npm` is a script that starts the compiled programs, everything else is what the reader would run.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { hasOpenssl } from "../../../gateway/test/certificates.js";
import { credentialsOf, type LocalPair, startLocalPair } from "../support/local-pair.js";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { ServeBench } from "../support/serve-bench.js";

const SIZE = "0.01";

/** A ceiling: each test starts several processes, and a shared machine may take its cores away for a while. */
vi.setConfig({ testTimeout: 300_000 });

let pair: LocalPair;
let bench: ServeBench;

beforeAll(async () => {
  pair = await startLocalPair({ seed: 15, symbols: ["BTC", "ETH"] });
  bench = new ServeBench(pair);
}, 240_000);
afterAll(async () => {
  bench.dispose();
  await pair.stop();
});

/** The blocks of one language in a part of a page, from its heading to the next. */
function blocksOf(language: "sh" | "ts", page: string, heading: string): readonly string[] {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
  const [, part = ""] = text.split(`\n## ${heading}\n`);
  const blocks = (part.split("\n## ")[0] ?? "").matchAll(/```(\w+)\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, found, script = ""]) => (found === language ? [script] : []));
}

function hasCurl(): boolean {
  try {
    execFileSync("curl", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    // The machine has none.
    return false;
  }
}

/** Holds the process id of the service: the shell that started it does not pass signals on. */
function pidFile(folder: string): string {
  return join(folder, "serve.pid");
}

/** `npm exec unwind -- …` and `npm run serve`, of the programs that were compiled for the test. */
function npmStandIn(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const cli = bench.cliCommand().map(word).join(" ");
  const serve = [process.execPath, bench.main].map(word).join(" ");
  writeFileSync(
    join(bin, "npm"),
    `#!/bin/sh
case "$1 $2" in
  "exec unwind") shift 3; exec ${cli} "$@" ;;
  "run serve") echo $$ >${word(pidFile(folder))}; UNWIND_PROFILE=serve exec ${serve} ;;
  *) echo "no such command: npm $*" >&2; exit 64 ;;
esac
`,
    { mode: 0o755 },
  );
  return bin;
}

/** Settings of a machine whose venues are local; the rest is what the text sets. */
function environmentOf(place: ReturnType<ServeBench["place"]>): Record<string, string> {
  const { UNWIND_PROFILE: _profile, AUTH_MODE: _mode, KEK_FILE: _kek, ...rest } = place.environment;
  return { ...rest, DATA_DIR: join(place.folder, "first"), PATH: `${npmStandIn(place.folder)}:${process.env["PATH"]}` };
}

function textAfter(text: string, label: string): string {
  return new RegExp(`^${label} +(\\S+)$`, "m").exec(text)?.[1] ?? "";
}

describe("the shell examples", () => {
  it.skipIf(!hasOpenssl || !hasCurl())(
    "of README and docs/api-keys.md make a key, start the service, and close a position (needs curl and openssl)",
    async () => {
      const place = bench.place("examples");
      const environment = environmentOf(place);
      const [setUp = "", signedClose = "", ...others] = blocksOf("sh", "README.md", "Serve");
      expect(others).toHaveLength(1);
      const trader = pair.addTrader("examples", { positions: { BTC: "1" } });
      const service = bench.run(["sh", "-eu", "-c", setUp], place.folder, environment);
      onTestFinished(async () => {
        process.kill(Number(readFileSync(pidFile(place.folder), "utf8")), "SIGTERM");
        await service.ended;
      });
      await expect.poll(() => `${service.stdout}${service.stderr}`).toMatch(/^ready \S+$|cannot start|unwind:/m);
      const BASE = /^ready (\S+)$/m.exec(service.stdout)?.[1] ?? "";
      expect(BASE, service.stderr).not.toBe("");
      expect(statSync(join(place.folder, "kek")).mode & 0o777).toBe(0o600);
      expect(statSync(join(place.folder, "first")).mode & 0o777).toBe(0o700);
      const KEY = textAfter(service.stdout, "key");
      const SECRET = textAfter(service.stdout, "secret");
      expect([KEY.slice(0, 3), SECRET.slice(0, 3)]).toEqual(["pk_", "sk_"]);

      const fields = { symbol: "BTC", direction: "LONG", size: SIZE, credentials: credentialsOf(trader) };
      writeFileSync(join(place.folder, "close.json"), JSON.stringify(fields));
      const shown = { PATH: process.env["PATH"] ?? "", BASE, KEY, SECRET };
      const shell = async (script: string): Promise<string> => {
        const { stdout } = await bench.run(["sh", "-eu", "-c", script], place.folder, shown).ended;
        // The machine stood still between signature and arrival: whoever gets that signs again.
        return stdout.includes("AUTH_TIMESTAMP_OUT_OF_WINDOW") ? shell(script) : stdout;
      };
      expect(JSON.parse(await shell(signedClose))).toMatchObject({
        success: true,
        data: { execution: { filledSize: SIZE } },
      });

      const [script = "", ...more] = blocksOf("sh", "docs/api-keys.md", "Sign a request");
      expect(more).toEqual([]);
      const [limits = "{}", dryRun = "{}"] = (await shell(script)).trimEnd().split("\n");
      expect(JSON.parse(limits)).toMatchObject({ success: true });
      // The example carries no credentials of a venue: the key is proven, and the dry run says what it lacks.
      expect(JSON.parse(dryRun).code ?? "ok").not.toMatch(/^AUTH|^KEY|^SCOPE|^AMBIGUOUS/);
    },
  );
});

describe("the TypeScript example", () => {
  it("of README closes a position with a key, and says of a repetition what the first one did", async () => {
    const place = bench.place("typescript");
    const { keyId, secret } = await bench.createKey(place, "--scope", "read,trade");
    const service = await bench.start(place);
    const trader = pair.addTrader("typescript", { positions: { BTC: "1" } });
    const [example = "", ...others] = blocksOf("ts", "README.md", "API tour");
    expect(others).toEqual([]);
    // Where every command compiles it.
    compileChild("client/api/api-client.ts", join(place.folder, "dist"));
    const script = ts.transpileModule(example, {
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
    });
    writeFileSync(join(place.folder, "example.mjs"), script.outputText);
    const environment = {
      BASE: service.url,
      KEY: keyId,
      SECRET: secret,
      VENUE_KEYS: JSON.stringify(credentialsOf(trader)),
    };
    const run = () => bench.run([process.execPath, "example.mjs"], place.folder, environment).ended;
    const first = await run();
    expect([first.code, first.stderr, first.stdout]).toEqual([0, "", "COMPLETED 0.05\n"]);
    expect((await run()).stdout).toBe(first.stdout);
    const unknown = await bench.run([process.execPath, "example.mjs"], place.folder, { ...environment, SECRET: "sk_x" })
      .ended;
    expect(unknown.stdout).toMatch(/^refused AUTH_BAD_SIGNATURE /);
    await bench.stop(service, "SIGTERM");
  });
});
