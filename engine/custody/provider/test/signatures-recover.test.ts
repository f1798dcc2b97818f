/**
 * Digests, messages, typed data and transactions through both parties' real sessions, with the intent that S makes and
 * the policy and day book that C judges by. viem finds the wallet's address from each signature, and the native library
 * verifies it. Ten of each kind, in CI 60; MPC_RUNS: how many.
 */
import { createRequire } from "node:module";
import { beforeAll, describe, expect, it } from "vitest";
import { addressOf, decodePoint } from "../../mpc/base/point.js";
import { HALF_ORDER } from "../../mpc/base/scalar.js";
import type { SignatureVerifier } from "../../mpc/parts/final-signature.js";
import type { Effect } from "../../mpc/sessions/effects.js";
import { carry, classOf, Node, WALLET } from "../../mpc/test/link.js";
import { seededRandom } from "../../mpc/test/seeded-random.js";
import { MESSAGE } from "../../mpc/wire/message-types.js";
import { ACTS, policyOf } from "../../policy/test/policies.js";
import { decodeDayRow } from "../../policy/day-row.js";
import { PolicyDayBook } from "../day-book.js";
import { signingIntent } from "../signing-intent.js";
import { KINDS, RULES, signingCase } from "./signing-cases.js";

const native = createRequire(import.meta.url)("secp256k1") as typeof import("secp256k1");
const SEED = "recovered-1";
const IN_CI = process.env["CI"] === "true";
const RUNS = Number(process.env["MPC_RUNS"] ?? (IN_CI ? 60 : 10));
const NOON = 20_000 * 86_400_000 + 43_200_000;
/** Far above what a slow machine needs for one. */
const MS_PER_SIGNATURE_MAX = 5_000;

/** As the service has it, and a tenth of the time of the portable one. */
const verifier: SignatureVerifier = {
  recover: (digest, rs, recoveryId) => native.ecdsaRecover(rs, recoveryId, digest, false),
  verify: (digest, rs, publicKey) => native.ecdsaVerify(rs, digest, publicKey),
};
const nodes = [new Node(0, seededRandom(SEED), verifier), new Node(1, seededRandom(SEED), verifier)] as const;
const [service, cosigner] = nodes;
const rows = new Map<string, Uint8Array>();
const refusals: string[] = [];
const dayBook = new PolicyDayBook({
  book: { policy: policyOf({}, RULES), acts: ACTS },
  nowMs: () => NOON,
  refused: (_walletId, { rule }) => refusals.push(rule),
});

/** What C's host does with what the policy noted. */
function keepAmounts(before: boolean, effect: Effect): void {
  if (!before) return;
  const writes =
    effect.kind === "commit" && effect.reservation !== null
      ? dayBook.writeOf(WALLET, effect.reservation)
      : effect.kind === "unreserve"
        ? dayBook.releaseOf(WALLET, effect.reservation)
        : [];
  for (const { key, value } of writes) if (value !== null) rows.set(key, value);
}

function totals(): Readonly<Record<string, bigint>> {
  const [row] = rows.values();
  return row === undefined ? {} : Object.fromEntries(decodeDayRow(row).totals);
}

function endAll(): void {
  for (const node of nodes) if (node.session !== null) node.run(node.session.end("deadline"));
}

describe("signatures of two parties", () => {
  let key: Buffer = Buffer.alloc(0);
  let address = "";

  beforeAll(() => {
    carry(nodes, service.keygen());
    key = service.acknowledged ?? key;
    const bytes = addressOf(decodePoint(key, "P"));
    address = `0x${bytes.toString("hex")}`;
    cosigner.intents = dayBook.reader(WALLET, bytes);
    cosigner.onEffect = keepAmounts;
  });

  it.each(KINDS)(
    `recover to the wallet's address, for ${RUNS} of each kind (10, in CI 60, else MPC_RUNS): %s`,
    async (kind) => {
      const seen = new Set<string>();
      for (let index = 0; index < RUNS; index++) {
        const { request, recovered } = signingCase(kind, SEED, index);
        const { intent, digest } = signingIntent("caller", request);
        carry(nodes, service.sign(intent, Buffer.from(digest)));
        const ends = [service.ends.at(-1), cosigner.ends.at(-1)].map(classOf);
        expect([index, refusals, ...ends]).toEqual([index, [], "done", "done"]);
        const signature = service.released.pop();
        if (signature === undefined) throw new Error(`no signature of ${kind} ${index}`);
        const { bytes, recoveryId } = signature;
        expect((await recovered(bytes, recoveryId)).toLowerCase()).toBe(address);
        expect(native.ecdsaVerify(bytes, digest, key)).toBe(true);
        expect(Buffer.from(native.ecdsaRecover(bytes, recoveryId, digest))).toEqual(key);
        expect(signature.s <= HALF_ORDER).toBe(true);
        seen.add(bytes.toString("hex"));
      }
      expect(seen.size).toBe(RUNS);
      expect(service.released).toEqual([]);
    },
    60_000 + RUNS * MS_PER_SIGNATURE_MAX,
  );

  it("leave the amounts of all transactions in the row of the day", () => {
    const spent: Record<string, bigint> = {};
    const add = (asset: string, amount: bigint) => (spent[asset] = (spent[asset] ?? 0n) + amount);
    for (let index = 0; index < RUNS; index++) {
      const { request } = signingCase("transaction", SEED, index);
      if (request.kind !== "transaction") throw new Error("no transaction");
      const { transaction } = request;
      const price = transaction.type === "legacy" ? transaction.gasPrice : transaction.maxFeePerGas;
      add("chain:42161/gas", price * transaction.gasLimit);
      if (transaction.data.length === 0) add("chain:42161/native", transaction.value);
      else add(`chain:42161/token:${transaction.to}`, BigInt(`0x${Buffer.from(transaction.data).toString("hex", 36)}`));
    }
    expect(totals()).toEqual(Object.fromEntries(Object.entries(spent).filter(([, amount]) => amount > 0n)));
  });

  it("are not made of what the policy refuses, and nothing is spent then", () => {
    const before = totals();
    const stranger = `0x${"5".repeat(40)}`;
    const { request } = signingCase("transaction", SEED, 0);
    if (request.kind !== "transaction") throw new Error("no transaction");
    const { intent, digest } = signingIntent("caller", {
      kind: "transaction",
      transaction: { ...request.transaction, to: stranger },
    });
    carry(nodes, service.sign(intent, Buffer.from(digest)));
    expect(nodes.map((node) => classOf(node.ends.at(-1)))).toEqual(["refused POLICY", "refused POLICY"]);
    expect([refusals.splice(0), service.released]).toEqual([["DESTINATION"], []]);
    expect(totals()).toEqual(before);
  });

  it("give an amount back that was reserved where the fourth flight never left", () => {
    const before = totals();
    const { request } = signingCase("transaction", "not finished", 0);
    const { intent, digest } = signingIntent("caller", request);
    // F1 arrives and F2 is lost: C has reserved, and S answers no more.
    carry(nodes, service.sign(intent, Buffer.from(digest)), (message, from) => (from === 1 ? [] : [message]));
    expect(totals()).not.toEqual(before);
    endAll();
    expect(totals()).toEqual(before);
    expect(service.released).toEqual([]);
  });

  it("keep an amount from the fourth flight on, and a retry on that day counts it no second time", async () => {
    const before = totals();
    const { request, recovered } = signingCase("transaction", "lost at the end", 0);
    const { intent, digest } = signingIntent("caller", request);
    carry(nodes, service.sign(intent, Buffer.from(digest)), (message) =>
      message.header.type === MESSAGE.f5 ? [] : [message],
    );
    endAll();
    const kept = totals();
    expect(kept).not.toEqual(before);
    expect(service.released).toEqual([]);
    carry(nodes, service.sign(intent, Buffer.from(digest)));
    const signature = service.released.pop();
    if (signature === undefined) throw new Error("no signature");
    expect((await recovered(signature.bytes, signature.recoveryId)).toLowerCase()).toBe(address);
    expect(totals()).toEqual(kept);
  });

  it("are not made of a digest that is not the intent's", () => {
    const before = totals();
    const { request } = signingCase("transaction", "another digest", 0);
    const { intent, digest } = signingIntent("caller", request);
    const other = Buffer.from(digest);
    other[31] = (other[31] ?? 0) ^ 1;
    carry(nodes, service.sign(intent, other));
    expect(nodes.map((node) => classOf(node.ends.at(-1)))).toEqual(["refused DIGEST", "refused DIGEST"]);
    expect([totals(), service.released]).toEqual([before, []]);
  });
});
