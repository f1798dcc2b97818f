/**
 * The package of the client, as somebody outside of the repository gets it: its tarball passes the linters of packages and is
 * small, and a project that has it installed compiles and trades on the local venuefive.
 */
import { spawn } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { rolldown } from "rolldown";
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { nodeTool, type PackedClient, packClient, runTool } from "../support/client-package.js";
import { addressesOf, keyClients, nextKey } from "./stand.js";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Of hook and actions together, minified, without viem and React. */
const GZIP_BYTES_MAX = 15_000;

let packed: PackedClient;
beforeAll(async () => {
  packed = await packClient();
}, 600_000);
afterAll(() => packed?.remove());

const installed = (...path: readonly string[]) => join(packed.project, "node_modules", "unwind-client", ...path);
const node = (tool: string, ...args: readonly string[]) => runTool(process.execPath, [tool, ...args], packed.project);

describe("the tarball of the client", () => {
  it("has modules and types of its entries, their licence and readme, and no test or source", () => {
    const files = readdirSync(installed(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed().length + 1));
    expect(files).toEqual(expect.arrayContaining(["README.md", "package.json", "dist/LICENSE"]));
    const modules = files.filter((path) => /^dist\/(client|schemas)\//.test(path));
    expect(files).toHaveLength(modules.length + 3);
    expect(modules.filter((path) => !/\.(d\.ts|js)$/.test(path) || /test/.test(path))).toEqual([]);
    const { exports } = JSON.parse(readFileSync(installed("package.json"), "utf8"));
    for (const entry of [exports["."], exports["./react"]]) {
      expect(Object.keys(entry)).toEqual(["types", "default"]);
      expect(modules).toEqual(expect.arrayContaining([entry.types.slice(2), entry.default.slice(2)]));
    }
  });

  it("imports viem and React alone, React in its hook alone, whose modules a server leaves to the client", () => {
    const imports = new Map<string, string[]>();
    for (const name of readdirSync(installed("dist"), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".js")) continue;
      const text = readFileSync(installed("dist", name), "utf8");
      for (const [, target = ""] of text.matchAll(/\bfrom "([^".][^"]*)"/g))
        imports.set(target, [...(imports.get(target) ?? []), name]);
    }
    expect([...imports.keys()].sort()).toEqual(["react", "viem", "viem/actions"]);
    const hooks = imports.get("react") ?? [];
    expect(hooks.filter((name) => !name.startsWith("client/react/"))).toEqual([]);
    for (const name of ["client/react/index.js", ...hooks])
      expect(readFileSync(installed("dist", name), "utf8")).toMatch(/^"use client";/);
  });

  it("passes publint", async () => {
    const bytes = readFileSync(packed.tarball);
    const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages, pkg } = await publint({ pack: { tarball } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("has types that fit its modules for every ESM resolution (attw)", async () => {
    const attw = nodeTool("@arethetypeswrong", "cli", "dist", "index.js");
    const { status, text } = await node(attw, packed.tarball, "--profile", "esm-only", "--no-color");
    expect(status, text).toBe(0);
    for (const entry of ["unwind-client", "unwind-client/react", "unwind-client/package.json"])
      expect(text).toContain(`"${entry}"`);
  });

  it(`takes at most ${GZIP_BYTES_MAX} bytes of a page, hook and actions together`, async () => {
    const entry = join(packed.project, "all.js");
    writeFileSync(entry, 'export * from "unwind-client";\nexport * from "unwind-client/react";\n');
    const sizeOf = async (input: string) => {
      // Silent, since it warns of each "use client", which a bundle of one page has no use for.
      const bundle = await rolldown({ input, external: /^(viem|react)(\/|$)/, logLevel: "silent" });
      const { output } = await bundle.generate({ format: "esm", minify: true });
      await bundle.close();
      expect(output).toHaveLength(1);
      const { code } = output[0];
      // Bundled are the package's own modules, and those of nobody else.
      expect(output[0].moduleIds.filter((id) => id !== entry && !id.startsWith(installed("dist")))).toEqual([]);
      expect(code.length).toBeGreaterThan(1_000);
      return gzipSync(code, { level: 9 }).length;
    };
    const [all, actions] = [await sizeOf(entry), await sizeOf(installed("dist", "client", "venuefive", "index.js"))];
    process.stdout.write(`unwind-client: ${all} bytes gzipped with the hook, ${actions} without\n`);
    expect(actions).toBeLessThan(all);
    expect(all).toBeLessThanOrEqual(GZIP_BYTES_MAX);
  });
});

describe("a project outside of the repository that has the client installed", { timeout: 300_000 }, () => {
  let world: VenuefiveWorld;
  beforeAll(async () => {
    cpSync(join(HERE, "outside"), packed.project, { recursive: true });
    world = await startVenuefive({ rolloverFeePerBlock: 0n });
  });
  afterAll(() => world?.stop());

  const tsc = (...args: readonly string[]) => node(nodeTool("typescript", "bin", "tsc"), ...args);

  /** The lines it prints; the keeper makes a round for each of its orders. */
  async function trade(act: "open" | "close" | "refuse", key: Hex): Promise<Readonly<Record<string, unknown>>[]> {
    const task = { act, key, rpcUrl: world.rpcUrl, addresses: addressesOf(world) };
    const program = join(packed.project, "out", "trade.mjs");
    const child = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines: Record<string, unknown>[] = [];
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Record<string, unknown>;
      lines.push(line);
      if (line["step"] === "mined") await world.keeper.round();
    }
    return lines;
  }

  it("compiles strictly with its types, as bundlers and as Node resolve them", async () => {
    expect(await tsc("-p", "tsconfig.bundler.json")).toEqual({ status: 0, text: "" });
    expect(await tsc("-p", "tsconfig.json")).toEqual({ status: 0, text: "" });
  });

  it("opens a position, finds it in the contract's storage, and closes it", async () => {
    const key = nextKey();
    const { address } = keyClients(world, key).account;
    await world.fund(address, { usdc: "1000", coins: "1" });
    const posToken = async () => {
      const args = [address, 1, 0];
      return (await world.read<{ initialPosToken: bigint }>("TradingStorage", "openTrades", args)).initialPosToken;
    };
    const steps = (operation: string, ...names: string[]) => names.map((step) => ({ step, operation }));

    expect(await trade("refuse", key)).toEqual([{ code: "LEVERAGE_OUT_OF_RANGE", outcome: "notSent" }]);
    expect(await posToken()).toBe(0n);

    const opened = await trade("open", key);
    const stored = await posToken();
    expect(stored).toBeGreaterThan(0n);
    expect(opened).toEqual([
      ...steps("openPosition", "approve", "approve-mined", "sign", "sent", "mined", "executed"),
      { opened: expect.objectContaining({ symbol: "BTC", size: "0.0108225108" }), stored: String(stored) },
    ]);

    expect(await trade("close", key)).toEqual([
      ...steps("closePosition", "sign", "sent", "mined", "executed"),
      { closed: expect.stringMatching(/^0x[0-9a-f]{64}$/), stored: "0" },
    ]);
    expect(await posToken()).toBe(0n);
  });

  it("renders the hook on a server", async () => {
    expect(await node(join(packed.project, "out", "page.js"))).toMatchObject({
      status: 0,
      text: '<button type="button">idle</button>',
    });
  });
});
