/** The layer rules must catch what they forbid: violations are planted in an empty tree, and the real configuration runs on it. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const repoRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Cruise {
  readonly modules: readonly unknown[];
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[];
  };
}

/** What the real configuration finds in a tree of path → source. */
function cruise(files: Record<string, string>): Cruise {
  const root = mkdtempSync(join(tmpdir(), "unwind-layers-"));
  folders.push(root);
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), source);
  }
  for (const name of [".dependency-cruiser.cjs", "tsconfig.json", "package.json"])
    copyFileSync(join(repoRoot, name), join(root, name));
  symlinkSync(join(repoRoot, "node_modules"), join(root, "node_modules"));
  const tops = [...new Set(Object.keys(files).map((path) => path.split("/")[0] ?? ""))];
  const cruiser = join(repoRoot, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");
  const result = spawnSync(
    process.execPath,
    [cruiser, "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...tops],
    { cwd: root, encoding: "utf8" },
  );
  return JSON.parse(result.stdout) as Cruise;
}

/** Names of the rules that fire. */
function violatedRules(files: Record<string, string>): string[] {
  return [...new Set(cruise(files).summary.violations.map((violation) => violation.rule.name))].sort();
}

/** First line of each finding of the check on folders. */
function foldersInRings(files: Record<string, string>): string[] {
  const script = `import { readFileSync } from "node:fs";
    import { folderCycles } from ${JSON.stringify(join(repoRoot, "gateway", "launch", "folder-cycles.mjs"))};
    process.stdout.write(JSON.stringify(folderCycles(JSON.parse(readFileSync(0, "utf8")))));`;
  const input = JSON.stringify(cruise(files).modules);
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { input, encoding: "utf8" });
  return (JSON.parse(stdout) as string[]).map((finding) => finding.split("\n")[0] ?? "");
}

const LEAF = "export const leaf = 1;\n";

describe("layer rules", () => {
  it("accept imports that look down", () => {
    expect(
      violatedRules({
        "engine/book.ts": LEAF,
        "feeds/venueone/market/stream.ts": 'import { leaf } from "../../../engine/book.js";\nexport const up = leaf;\n',
        "gateway/main.ts": 'import { up } from "../feeds/venueone/market/stream.js";\nexport const top = up;\n',
      }),
    ).toEqual([]);
  });

  /** Rule, folder that breaks it, file it imports. All are planted in one tree, each in a file of its own. */
  const PLANTED: readonly (readonly [rule: string, folder: string, target: string])[] = [
    ["engine-looks-down", "engine", "feeds/x.ts"],
    ["feeds-look-down", "feeds", "gateway/x.ts"],
    ["rooms-are-apart", "feeds/venueone", "feeds/venuetwo/x.ts"],
    ["shared-knows-no-room", "feeds/shared/room", "feeds/venueone/x.ts"],
    ["feeds-take-no-schemas", "feeds/venueone", "schemas/x.ts"],
    ["schemas-import-nothing", "schemas", "engine/x.ts"],
    ["client-takes-schemas-only", "client", "gateway/x.ts"],
    ["nothing-imports-bench", "gateway", "bench/x.ts"],
    ["nothing-imports-the-demo", "gateway/app", "gateway/demo/x.ts"],
    ["nothing-imports-the-demo", "gateway", "gateway/demo/x.ts"],
    ["local-core-knows-no-venue", "bench/sim/core/server", "bench/sim/venueone/x.ts"],
    ["local-engine-knows-no-server", "bench/sim/core/engine", "bench/sim/core/server/x.ts"],
    ["local-wire-is-lowest", "bench/sim/venueone/wire", "bench/sim/venueone/market/x.ts"],
    ["local-venues-prove-on-their-own", "bench/sim", "feeds/venueone/sign/sign.ts"],
    ["local-venues-prove-on-their-own", "bench/sim/venuethree", "feeds/venuethree/sign/sign.ts"],
    ["local-venues-borrow-their-own-hashes", "bench/sim/venuefour", "feeds/venuethree/sign/tx.ts"],
    ["local-venues-borrow-their-own-hashes", "bench/sim/core", "feeds/venuethree/sign/tx.ts"],
    ["room-rows-look-down", "feeds/venueone/market", "feeds/venueone/orders/x.ts"],
    ["room-rows-look-down", "feeds/venuetwo/market", "feeds/venuetwo/account/x.ts"],
    ["room-accounts-take-no-orders", "feeds/venueone/account", "feeds/venueone/orders/x.ts"],
    ["room-signs-on-its-own", "feeds/venueone/sign", "feeds/venueone/account/x.ts"],
    ["room-signs-on-its-own", "feeds/venueone/rules", "feeds/venueone/market/x.ts"],
    ["room-rows-know-no-shell", "feeds/venueone/market", "feeds/venueone/room.ts"],
    ["shared-net-is-lowest", "feeds/shared/net", "feeds/shared/book/x.ts"],
    ["shared-net-is-lowest", "feeds/shared/sign", "feeds/shared/orders/x.ts"],
    ["shared-book-and-room-take-net", "feeds/shared/book", "feeds/shared/account/x.ts"],
    ["shared-chain-takes-net-and-room", "feeds/shared/chain", "feeds/shared/orders/x.ts"],
    ["shared-chain-takes-net-and-room", "feeds/shared/chain", "engine/custody/provider/x.ts"],
    ["shared-accounts-take-no-orders", "feeds/shared/account", "feeds/shared/orders/x.ts"],
    ["admin-knows-no-service", "gateway/admin", "gateway/app/x.ts"],
    ["http-knows-no-routes", "gateway/http", "gateway/api/routes/x.ts"],
    ["auth-knows-no-shell", "gateway/auth", "gateway/stream/x.ts"],
    ["auth-knows-no-shell", "gateway/auth", "gateway/http/x.ts"],
    ["children-know-no-service", "gateway/children", "gateway/app/x.ts"],
    ["custody-knows-no-service", "gateway/custody", "gateway/app/x.ts"],
    ["custody-knows-no-service", "gateway/custody", "feeds/shared/net/x.ts"],
    ["outside-signer-knows-no-service", "gateway/outside-signer", "gateway/custody/x.ts"],
    ["outside-signer-knows-no-service", "gateway/outside-signer", "feeds/shared/orders/x.ts"],
    ["outside-wallets-know-no-sessions", "engine/custody/outside", "engine/custody/mpc/sessions/x.ts"],
    ["outside-wallets-know-no-sessions", "engine/custody/outside", "engine/custody/provider/x.ts"],
    ["cosigner-knows-no-service", "gateway/cosigner", "gateway/app/x.ts"],
    ["cosigner-knows-no-service", "gateway/cosigner", "gateway/http/x.ts"],
    ["views-know-no-routes", "gateway/api", "gateway/api/routes/x.ts"],
    ["views-know-no-routes", "gateway/accounts", "gateway/stream/x.ts"],
    ["routes-and-stream-know-no-wiring", "gateway/api/routes", "gateway/app/x.ts"],
    ["stream-knows-no-routes", "gateway/stream", "gateway/api/routes/x.ts"],
    ["domain-is-lowest", "engine/domain", "engine/market/x.ts"],
    ["engine-parts-know-no-orders", "engine/guards", "engine/orders/x.ts"],
    ["sealing-knows-the-store-alone", "engine/custody/sealing", "engine/custody/x.ts"],
    ["sealing-knows-the-store-alone", "engine/custody/sealing", "engine/storage/x.ts"],
    ["mpc-base-is-lowest", "engine/custody/mpc/base", "engine/custody/mpc/parts/x.ts"],
    ["mpc-base-is-lowest", "engine/custody/mpc/base", "engine/domain/x.ts"],
    ["two-party-signing-knows-no-provider", "engine/custody/mpc/sessions", "engine/custody/policy/x.ts"],
    ["two-party-signing-knows-no-provider", "engine/custody/mpc/state", "engine/storage/x.ts"],
    ["two-party-sessions-are-on-top", "engine/custody/mpc/wire", "engine/custody/mpc/sessions/x.ts"],
    ["two-party-arithmetic-is-lowest", "engine/custody/mpc/parts", "engine/custody/mpc/state/x.ts"],
    ["digests-are-lowest", "engine/custody/digest", "engine/custody/policy/x.ts"],
    ["digests-are-lowest", "engine/custody/digest", "engine/domain/x.ts"],
    ["policy-knows-digests-alone", "engine/custody/policy", "engine/custody/mpc/x.ts"],
    ["policy-knows-digests-alone", "engine/custody/policy", "engine/storage/x.ts"],
    ["orders-know-no-portfolio", "engine/orders", "engine/portfolio/x.ts"],
    ["orders-know-no-portfolio", "engine/orders/single", "engine/recorder/x.ts"],
    ["orders-durable-looks-down", "engine/orders/durable", "engine/orders/decide/x.ts"],
    ["orders-decide-looks-down", "engine/orders/decide", "engine/orders/send/x.ts"],
    ["orders-send-looks-down", "engine/orders/send", "engine/orders/follow/x.ts"],
    ["orders-follow-looks-down", "engine/orders/follow", "engine/orders/conclude/x.ts"],
    ["orders-conclude-looks-down", "engine/orders/conclude", "engine/orders/protect/x.ts"],
    ["orders-protect-looks-down", "engine/orders/protect", "engine/orders/request/x.ts"],
    ["orders-request-looks-down", "engine/orders/request", "engine/orders/single/x.ts"],
    ["orders-root-knows-no-step", "engine/orders", "engine/orders/durable/x.ts"],
    ["single-orders-know-no-request", "engine/orders/single", "engine/orders/request/x.ts"],
    ["one-sender", "engine/orders/single", "engine/orders/send/send-attempt.ts"],
  ];
  /** What no import of another file of ours can show. */
  const OTHERS: Readonly<Record<string, string>> = {
    "engine/planted-pure.ts": 'import { readFileSync } from "node:fs";\nexport const a = readFileSync;\n',
    "engine/custody/mpc/base/planted-net.ts": 'import { connect } from "node:net";\nexport const a = connect;\n',
    "engine/custody/policy/planted-pure.ts": 'import { hostname } from "node:os";\nexport const a = hostname;\n',
    "engine/planted-transport.ts": 'import type { WebSocket } from "ws";\nexport type A = WebSocket;\n',
    "gateway/auth/planted-transport.ts": 'import type { WebSocket } from "ws";\nexport type A = WebSocket;\n',
    "engine/planted-nowhere.ts": 'import { a } from "./nowhere.js";\nexport const b = a;\n',
    "engine/planted-circle.ts": 'import type { B } from "./circle.js";\nexport type A = B | 1;\n',
    "engine/circle.ts": 'import type { A } from "./planted-circle.js";\nexport type B = A | 2;\n',
  };

  it("catch what they forbid, and each has a planted violation", { timeout: 60_000 }, () => {
    const files: Record<string, string> = { ...OTHERS };
    const expected = new Set([
      "engine-is-pure: engine/planted-pure.ts",
      "two-party-signing-is-pure: engine/custody/mpc/base/planted-net.ts",
      "digests-and-policy-are-pure: engine/custody/policy/planted-pure.ts",
      "engine-takes-no-transport: engine/planted-transport.ts",
      "auth-takes-no-transport: gateway/auth/planted-transport.ts",
      "not-to-unresolvable: engine/planted-nowhere.ts",
      "no-circular: engine/circle.ts",
    ]);
    for (const [index, [rule, folder, target]] of PLANTED.entries()) {
      const from = `${folder}/planted-${index}.ts`;
      const path = relative(folder, target).replace(/\.ts$/, ".js");
      files[target] = LEAF;
      files[from] = `import { leaf } from "${path.startsWith(".") ? path : `./${path}`}";\nexport const a = leaf;\n`;
      expected.add(`${rule}: ${from}`);
    }
    const found = new Set(cruise(files).summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`));
    expect([...expected].filter((violation) => !found.has(violation))).toEqual([]);
    const config = createRequire(import.meta.url)(join(repoRoot, ".dependency-cruiser.cjs")) as {
      readonly forbidden: readonly { readonly name: string }[];
    };
    const caught = new Set([...expected].map((violation) => violation.split(":")[0]));
    expect(config.forbidden.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([]);
  });

  it("find folders that import each other where no file does", () => {
    const files = {
      "engine/one/a.ts": 'import { leaf } from "../two/leaf.js";\nexport const a = leaf;\n',
      "engine/two/b.ts": 'import { a } from "../one/a.js";\nexport const b = a;\n',
      "engine/two/leaf.ts": LEAF,
    };
    expect(foldersInRings(files)).toEqual(["folders import each other: engine/one, engine/two"]);
    expect(foldersInRings({ ...files, "engine/two/b.ts": LEAF })).toEqual([]);
  });
});
