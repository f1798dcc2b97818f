/**
 * Server wallets as an operator runs them: `npm run serve` with CUSTODY_DIR, the co-signer as the process that the
 * service starts, callers with API keys, local venues that are configured as real ones.
 *
 * CUSTODY_RUNS sets the number of seeds of kills, each with a kill in a creation and one in a signature; default one.
 * FUZZ_SEED is the first of them.
 */
import { recoverTypedDataAddress } from "viem";
import { describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { AuditRow } from "../../../gateway/auth/audit.js";
import type { Reply } from "../../../gateway/test/client.js";
import {
  type CustodyBench,
  type CustodyPlace,
  FORUM_POST,
  madeWallet,
  onceServed,
  outcomeOf,
  toldBy,
  type WalletCaller,
  walletIn,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";
import type { ServeProcess } from "../support/serve-bench.js";
import { pause, waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_127);
const RUNS = Number(process.env.CUSTODY_RUNS ?? 1);
const AT_ONCE = 20;
/** A signature's own limit in the service, and room for the request around it; of time in which this process runs. */
const SIGN_MS = 20_000;

let bench: CustodyBench;
benchOfFile(15, (made) => {
  bench = made;
});

async function expectSigns(caller: WalletCaller, wallet: { readonly walletId: string; readonly address: string }) {
  const signed = await onceServed(() => caller.sign(wallet.walletId, { message: MESSAGE }));
  expect(await signerOf(signed)).toBe(wallet.address);
}

/** As a stranger may compare it: without what differs from request to request. */
function bodyText({ text }: Reply): string {
  return text.replace(/"timestamp":\d+/g, '"timestamp":0').replace(/"requestId":"[^"]*"/, "");
}

const swapped = (text: string) =>
  text.replace(/[a-z]/gi, (letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()));

const PERMIT = {
  domain: { ...FORUM_POST.domain, name: "Dollar" },
  primaryType: "Permit",
  types: {
    EIP712Domain: FORUM_POST.types.EIP712Domain,
    Permit: [
      { name: "owner", type: "address" },
      { name: "spender", type: "address" },
      { name: "value", type: "uint256" },
      { name: "nonce", type: "uint256" },
      { name: "deadline", type: "uint256" },
    ],
  },
  message: {
    owner: "0x2020202020202020202020202020202020202020",
    spender: "0x3030303030303030303030303030303030303030",
    ...{ value: "1", nonce: "0", deadline: "4000000000" },
  },
};

describe("server wallets of npm run serve", () => {
  it("are made once, found by every name, sign what the policy allows, and are nobody else's", async () => {
    const place = bench.place("whole");
    const service = await bench.start(place);
    const [own, other] = [await bench.createKey(place), await bench.createKey(place)];
    const caller = bench.caller(service, own);
    const stranger = bench.caller(service, other);

    // The service listens before its co-signer does.
    const wallet = await madeWallet(caller, "alice");
    const { walletId, address } = wallet;
    expect(wallet).toMatchObject({ userId: "alice", state: "ACTIVE", epoch: 1 });
    for (const name of ["alice", walletId, swapped(walletId), address, `0x${swapped(address.slice(2))}`]) {
      const found = await caller.find(name);
      expect([found.status, walletIn(found)], name).toMatchObject([200, { walletId, address }]);
    }
    expect((await caller.list()).map((one) => one.walletId)).toEqual([walletId]);

    await expectSigns(caller, wallet);
    const post = await onceServed(() => caller.sign(address, { typedData: FORUM_POST }));
    const { signature = "0x" } = toldBy(post).data ?? {};
    const domain = { ...FORUM_POST.domain, chainId: 1n };
    expect(outcomeOf(post)).toEqual([200, "ok"]);
    expect(await recoverTypedDataAddress({ ...FORUM_POST, domain, signature })).toBe(address);

    const refused = {
      PERMIT: { typedData: PERMIT },
      VENUE_TEXT: { message: "You are signing into Astherus 123456" },
      RAW_DIGEST: { digest: `0x${"17".repeat(32)}` },
    };
    for (const [rule, what] of Object.entries(refused)) {
      const reply = await caller.sign("alice", what);
      expect([...outcomeOf(reply), toldBy(reply).details?.["rule"]]).toEqual([403, "POLICY_REFUSED", rule]);
    }

    const key = { "idempotency-key": "sign-1" };
    const first = await caller.sign("alice", { message: MESSAGE }, key);
    const again = await caller.sign("alice", { message: MESSAGE }, key);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect(toldBy(again).data).toEqual(toldBy(first).data);
    expect((await caller.sign("alice", { message: "another text" }, key)).status).toBe(422);

    const unknownId = `${walletId.slice(0, -4)}${walletId.endsWith("0000") ? "1111" : "0000"}`;
    for (const [name, unknown] of [
      ["alice", "nobody"],
      [walletId, unknownId],
      [address, `0x${"99".repeat(20)}`],
    ] as const) {
      const asks = [(of: string) => stranger.find(of), (of: string) => stranger.sign(of, { message: MESSAGE })];
      for (const ask of asks) {
        const [foreign, none] = [await ask(name), await ask(unknown)];
        expect(outcomeOf(foreign)).toEqual([404, "WALLET_NOT_FOUND"]);
        expect(bodyText(foreign)).toBe(bodyText(none));
      }
    }
    expect(await stranger.list()).toEqual([]);

    const many = await Promise.all(Array.from({ length: AT_ONCE }, () => stranger.create("alice")));
    const outcomes = many.map((reply) => outcomeOf(reply).join(" "));
    expect(outcomes.filter((outcome) => outcome === "200 ok")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "409 WALLET_EXISTS")).toHaveLength(AT_ONCE - 1);
    const [only, ...more] = await stranger.list();
    expect([only?.userId, more]).toEqual(["alice", []]);
    expect(only?.walletId).not.toBe(walletId);
    const held = await bench.wallets(place);
    expect(idsOf(held.service)).toEqual([walletId, only?.walletId].sort());
    expect(idsOf(held.cosigner)).toEqual(idsOf(held.service));
    expect((await madeRows(place)).map(({ who, subject }) => `${who} ${subject}`).sort()).toEqual(
      [`${own.keyId} ${walletId}`, `${other.keyId} ${only?.walletId}`].sort(),
    );
  });

  it("sign again after a restart, and after a co-signer that was killed or stood still", async () => {
    const place = bench.place("restarted");
    const before = await bench.start(place);
    const key = await bench.createKey(place);
    const wallet = await madeWallet(bench.caller(before, key), "bob");
    await bench.stop(before, "SIGTERM");

    const service = await bench.start(place);
    const caller = bench.caller(service, key);
    expect(await caller.list()).toMatchObject([{ walletId: wallet.walletId, address: wallet.address }]);
    await expectSigns(caller, wallet);

    process.kill(await bench.cosignerPid(service), "SIGKILL");
    const without = await caller.sign("bob", { message: MESSAGE });
    if (without.status === 200) expect(await signerOf(without)).toBe(wallet.address);
    else expectUnavailable(without);
    await expectSigns(caller, wallet);

    const pid = await bench.cosignerPid(service);
    process.kill(pid, "SIGSTOP");
    try {
      const reply = await withinLimit(() => caller.sign("bob", { message: MESSAGE }));
      expectUnavailable(reply);
      expect((await caller.find("bob")).status).toBe(200);
      // Once the link is given up there is nothing to wait for.
      expectUnavailable(await withinLimit(() => caller.sign("bob", { message: MESSAGE })));
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await expectSigns(caller, wallet);
    expect(service.child.exitCode).toBeNull();
  });

  for (const seed of Array.from({ length: RUNS }, (_, run) => SEED + run)) {
    it(`are never two of one user after kill -9 (seed ${seed})`, async () => {
      const random = createSeededRandom(seed);
      const place = bench.place(`killed-${seed}`);
      let service = await bench.start(place);
      const key = await bench.createKey(place);
      const startedMs = performance.now();
      await madeWallet(bench.caller(service, key), "first");
      const createMs = performance.now() - startedMs;

      await killedDuring(service, random.next() * createMs, bench.caller(service, key).create("carol"));
      service = await bench.start(place);
      const caller = bench.caller(service, key);
      const reply = await onceServed(() => caller.create("carol"));
      expect([[200, "ok"].join(), [409, "WALLET_EXISTS"].join()]).toContain(outcomeOf(reply).join());
      const wallet = await onlyWallet(caller, place, "carol");
      await expectSigns(caller, wallet);
      // Whichever side of the kill it was made on, one row says so.
      const made = (await madeRows(place)).filter(({ subject }) => subject === wallet.walletId);
      expect(made.map(({ who }) => who)).toEqual([key.keyId]);

      await killedWhileSigning(service, caller, random);
      service = await bench.start(place);
      const after = bench.caller(service, key);
      expect(await onlyWallet(after, place, "carol")).toMatchObject({ walletId: wallet.walletId, state: "ACTIVE" });
      await expectSigns(after, wallet);
    });
  }
});

/** The rows of the service's audit log that say who made which wallet. */
async function madeRows(place: CustodyPlace): Promise<readonly AuditRow[]> {
  const { rows } = (await bench.admin(place, "service", "audit.page")) as { readonly rows: readonly AuditRow[] };
  return rows.filter(({ what, outcome }) => what === "wallet.create" && outcome === "done");
}

function idsOf(wallets: readonly { readonly walletId: string }[]): string[] {
  return wallets.map(({ walletId }) => walletId).sort();
}

function expectUnavailable(reply: Reply): void {
  expect(outcomeOf(reply)).toEqual([503, "SIGNER_UNAVAILABLE"]);
  expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
}

async function withinLimit(send: () => Promise<Reply>): Promise<Reply> {
  let reply: Reply | null = null;
  const sent = send().then((answer) => {
    reply = answer;
    return answer;
  });
  await waitUntil("a reply", SIGN_MS, () => reply !== null);
  return sent;
}

/** The request's reply, if there is one, says nothing that does not hold afterwards; that is judged there. */
async function killedDuring(service: ServeProcess, afterMs: number, request: Promise<Reply>): Promise<void> {
  const over = request.catch(() => null);
  await pause(afterMs);
  await bench.stop(service, "SIGKILL");
  await over;
}

/** Signatures one after the other, and a kill somewhere in them. */
async function killedWhileSigning(service: ServeProcess, caller: WalletCaller, random: Random): Promise<void> {
  let isKilled = false;
  const signing = (async () => {
    while (!isKilled) await caller.sign("carol", { message: MESSAGE }).catch(() => null);
  })();
  await pause(100 + random.next() * 400);
  await bench.stop(service, "SIGKILL");
  isKilled = true;
  await signing;
}

/** Both parties have the same wallets, and the user has one. */
async function onlyWallet(caller: WalletCaller, place: CustodyPlace, userId: string) {
  const [wallet, ...others] = (await caller.list()).filter((one) => one.userId === userId);
  expect(others).toEqual([]);
  const held = await bench.wallets(place);
  expect(idsOf(held.cosigner)).toEqual(idsOf(held.service));
  if (wallet === undefined) throw new Error(`${userId} has no wallet`);
  return wallet;
}
