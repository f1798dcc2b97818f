/**
 * Server wallets where something is wrong: a co-signer that cheats freezes a wallet on both sides until both operators
 * act; parties that may not work together do not start.
 */
import { randomBytes } from "node:crypto";
import { cpSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type CustodyBench,
  type CustodyPlace,
  editParty,
  madeWallet,
  onceServed,
  outcomeOf,
  type WalletCaller,
  walletIn,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";
import type { Running, ServeProcess } from "../support/serve-bench.js";
import { pause } from "../support/system.js";

let bench: CustodyBench;
benchOfFile(16, (made) => {
  bench = made;
});

const sign = (caller: WalletCaller) => onceServed(() => caller.sign("alice", { message: MESSAGE }));

interface AuditRow {
  readonly what: string;
  readonly who: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

async function auditOf(place: CustodyPlace, side: "service" | "cosigner", what: string): Promise<readonly AuditRow[]> {
  const page = (await bench.admin(place, side, "audit.page")) as { readonly rows: readonly AuditRow[] };
  return page.rows.filter((row) => row.what === what);
}

async function frozenCount(caller: WalletCaller): Promise<readonly unknown[]> {
  const status = (await caller.ask("/api/status")).body as unknown as {
    readonly data: { readonly custody?: { readonly wallets: number; readonly frozen: number } };
  };
  const metrics = (await caller.ask("/metrics")).text;
  return [
    status.data.custody?.wallets,
    status.data.custody?.frozen,
    /^unwind_wallets_frozen (\d+)$/m.exec(metrics)?.[1],
  ];
}

describe("a co-signer that changes one bit of its last share of the arithmetic", () => {
  it("freezes the wallet on both sides, past restarts, until both operators let it sign again", async () => {
    const place = bench.place("frozen");
    const cosigner = await bench.remoteCosigner(place);
    const remote = { COSIGNER_URL: `tls://127.0.0.1:${cosigner.port}` };
    const service = await bench.start(place, remote);
    const key = await bench.createKey(place, ["read", "sign", "admin"]);
    const caller = bench.caller(service, key);
    const wallet = await madeWallet(caller, "alice");
    const { walletId, address } = wallet;
    expect(await signerOf(await sign(caller))).toBe(address);

    await cosigner.behave("cheat");
    expect(outcomeOf(await sign(caller))).toEqual([423, "WALLET_FROZEN"]);
    // A creation under such a test signature makes no wallet, so that there is none to freeze.
    expect(outcomeOf(await onceServed(() => caller.create("bob")))).toEqual([500, "FAILED_TO_CREATE_WALLET"]);
    expect((await caller.find("bob")).status).toBe(404);
    await cosigner.behave("honest");
    expect(outcomeOf(await sign(caller))).toEqual([423, "WALLET_FROZEN"]);
    expect(walletIn(await caller.find("alice")).state).toBe("FROZEN");
    expect(await frozenCount(caller)).toEqual([1, 1, "1"]);
    const subject = walletId;
    expect(await auditOf(place, "service", "wallet.frozen")).toMatchObject([{ subject, details: { class: "cheat" } }]);
    expect(await auditOf(place, "cosigner", "wallet.frozen")).toMatchObject([{ subject, details: { by: "peer" } }]);

    await bench.stop(service, "SIGKILL");
    await cosigner.stop("SIGTERM");
    await bench.remoteCosigner(place, cosigner.port);
    const again = await bench.start(place, remote);
    const later = bench.caller(again, key);
    expect(outcomeOf(await sign(later))).toEqual([423, "WALLET_FROZEN"]);
    const held = await bench.wallets(place);
    expect([...held.service, ...held.cosigner].map(({ state }) => state.toUpperCase())).toEqual(["FROZEN", "FROZEN"]);

    // The service's operator alone cannot.
    await expect(bench.admin(place, "service", "wallets.unfreeze", { walletId })).rejects.toThrow(/"code"/);
    expect(outcomeOf(await sign(later))).toEqual([423, "WALLET_FROZEN"]);
    await bench.admin(place, "cosigner", "wallets.unfreeze", { walletId });
    expect(outcomeOf(await sign(later))).toEqual([423, "WALLET_FROZEN"]);
    expect(await bench.admin(place, "service", "wallets.unfreeze", { walletId })).toMatchObject({ state: "ACTIVE" });
    expect(await signerOf(await sign(later))).toBe(address);
    const mended = walletIn(await later.find("alice"));
    expect([mended.state, mended.address, mended.epoch > wallet.epoch]).toEqual(["ACTIVE", address, true]);
    expect(await frozenCount(later)).toEqual([1, 0, "0"]);
  });
});

/** What the running service tells its operator, once it tells that. */
async function onceSaid(service: Running, expected: RegExp): Promise<string> {
  const url = /^ready (\S+)$/m.exec(service.stdout)?.[1] ?? "";
  for (;;) {
    const said = `${await (await fetch(`${url}/ready`)).text()}${service.stderr}`;
    if (expected.test(said)) return said;
    await pause(100);
  }
}

function listening({ child }: Running): Promise<true> {
  return new Promise((resolve) => child.stdout?.once("data", () => resolve(true)));
}

/**
 * The text of a start that does not come to be. A co-signer that is slow to come is not waited for: on a machine that
 * stands still the service is up before it knows, and says it in its log or in /ready.
 */
async function refusedBy(
  place: CustodyPlace,
  changes: Readonly<Record<string, string>> = {},
  late: RegExp | null = null,
): Promise<string> {
  const service = bench.serve.launch(place, { LOG_LEVEL: "warn", ...changes });
  const isUp = await Promise.race([service.ended.then(() => false), listening(service)]);
  if (isUp && late !== null) {
    const said = await onceSaid(service, late);
    await bench.serve.stop(service, "SIGTERM");
    return said;
  }
  if (isUp) await bench.serve.stop(service, "SIGTERM");
  const { code, stderr } = await service.ended;
  expect([isUp, code, stderr]).toEqual([false, 2, expect.stringMatching(/^unwind cannot start/m)]);
  return stderr;
}

interface Wrong {
  readonly why: string;
  readonly spoil: (place: CustodyPlace) => Readonly<Record<string, string>>;
  readonly says: RegExp;
  /** Where only the co-signer finds it: what a service says that is up already. */
  readonly late: RegExp | null;
}

const nothing = {};
const WRONG: readonly Wrong[] = [
  {
    why: "both parties have one key-encryption key",
    spoil: ({ cosigner }) => ({ KEK_FILE: join(cosigner, "kek") }),
    says: /both parties seal with one key-encryption key/,
    late: /SAME_KEK: both parties have one key-encryption key/,
  },
  {
    why: "both parties have one backup key",
    spoil({ service, cosigner }) {
      let own: unknown = null;
      editParty(service, (members) => {
        own = members["backupPublicKey"];
        return members;
      });
      editParty(cosigner, (members) => ({ ...members, backupPublicKey: own }));
      return nothing;
    },
    says: /server wallets: both parties have one backup key/,
    late: /SAME_BACKUP_KEY: both parties have one backup key/,
  },
  {
    why: "the service has no backup key",
    spoil({ service }) {
      editParty(service, ({ backupPublicKey: _, ...members }) => members);
      return nothing;
    },
    says: /CUSTODY_DIR: .*party\.json: backupPublicKey/,
    late: null,
  },
  {
    why: "the co-signer has no backup key",
    spoil({ cosigner }) {
      editParty(cosigner, ({ backupPublicKey: _, ...members }) => members);
      return nothing;
    },
    says: /server wallets: the co-signer does not start: .*party\.json: backupPublicKey/,
    late: /cosigner\.restarting.*backupPublicKey/,
  },
  {
    why: "the service pins another co-signer",
    spoil({ service }) {
      editParty(service, otherPin);
      return nothing;
    },
    says: /do not pin each other's certificates/,
    late: /PIN: the two parties do not pin each other/,
  },
  {
    why: "the co-signer pins another service",
    spoil({ cosigner }) {
      editParty(cosigner, otherPin);
      return nothing;
    },
    says: /do not pin each other's certificates/,
    late: /PIN: the two parties do not pin each other/,
  },
  {
    why: "the service's backup folder is missing",
    spoil({ service }) {
      rmSync(join(service, "backups"), { recursive: true });
      return nothing;
    },
    says: /BACKUP_FOLDER_MISSING/,
    late: null,
  },
  {
    why: "the co-signer's backup folder is missing",
    spoil({ cosigner }) {
      rmSync(join(cosigner, "backups"), { recursive: true });
      return nothing;
    },
    says: /server wallets: the co-signer does not start: .*BACKUP_FOLDER_MISSING/,
    late: /cosigner\.restarting.*BACKUP_FOLDER_MISSING/,
  },
  {
    why: "anybody who reaches the port could sign",
    spoil: () => ({ AUTH_MODE: "public", UNWIND_PROFILE: "start", KEK_FILE: "" }),
    says: /CUSTODY_DIR with AUTH_MODE=public would let anyone sign/,
    late: null,
  },
];

function either(one: RegExp, other: RegExp): RegExp {
  return new RegExp(`${one.source}|${other.source}`, "is");
}

function otherPin(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const [pin = ""] = members["peerPins"] as string[];
  return { ...members, peerPins: [pin.replace(/[0-9a-f]{64}/, randomBytes(32).toString("hex"))] };
}

describe("two parties that may not work together", () => {
  for (const [index, { why, spoil, says, late }] of WRONG.entries()) {
    it(`do not start, and say that ${why}`, async () => {
      const place = bench.place(`wrong-${index}`);
      expect(await refusedBy(place, spoil(place), late)).toMatch(late === null ? says : either(says, late));
    });
  }

  it("do not start with another key-encryption key of either, nor is one made to fit", async () => {
    const place = bench.place("other-kek");
    const service = await bench.start(place);
    const key = await bench.createKey(place);
    const { address } = await madeWallet(bench.caller(service, key), "alice");
    await bench.stop(service, "SIGTERM");

    const otherKek = bench.serve.kek(place.folder, "kek-other");
    expect(await refusedBy(place, { KEK_FILE: otherKek })).toMatch(/sealed under the key [0-9a-f]{16}; the one given/);
    const kek = join(place.cosigner, "kek");
    copyFileSync(kek, `${kek}-kept`);
    writeFileSync(kek, randomBytes(32));
    const sealed = /sealed under the key [0-9a-f]{16}; the one given is another/;
    expect(await refusedBy(place, {}, sealed)).toMatch(sealed);

    copyFileSync(`${kek}-kept`, kek);
    const mended: ServeProcess = await bench.start(place);
    expect(await signerOf(await sign(bench.caller(mended, key)))).toBe(address);
  });

  it("are named in /ready where the co-signer is on another host", async () => {
    const place = bench.place("remote-wrong");
    const cosigner = await bench.remoteCosigner(place);
    const kept = join(place.folder, "kept");
    cpSync(place.service, kept, { recursive: true });
    editParty(place.service, otherPin);
    const service = await bench.start(place, { COSIGNER_URL: `tls://127.0.0.1:${cosigner.port}` });
    const key = await bench.createKey(place);
    const caller = bench.caller(service, key);
    const ready = await caller.ask("/ready");
    expect([ready.status, ready.text]).toEqual([
      503,
      expect.stringContaining("PIN: the two parties do not pin each other"),
    ]);
    const refused = await caller.create("alice");
    expect([...outcomeOf(refused), Number(refused.headers["retry-after"]) > 0]).toEqual([
      503,
      "SIGNER_UNAVAILABLE",
      true,
    ]);
  });
});
