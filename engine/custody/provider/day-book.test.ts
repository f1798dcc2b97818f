/** C's judgement with the day's amounts as rows: what counts when, what is given back, and what a restart remembers. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StateRow, StateWrite } from "../../storage/state-store.js";
import { encodeIntent, type IntentInput } from "../digest/intent.js";
import type { Reservation } from "../mpc/sessions/effects.js";
import { type PolicyVerdict, TEST_INTENT } from "../mpc/sessions/sign-cosigner.js";
import { POLICY_RULES, type PolicyRefusal } from "../policy/refusals.js";
import { ACTS, CHAIN, FRIEND, policyOf, STRANGER, WALLET } from "../policy/test/policies.js";
import { DAY_NAMESPACE, PolicyDayBook } from "./day-book.js";

const NOON = 20_000 * 86_400_000 + 43_200_000;
const DAY_MS = 86_400_000;
const [ONE, TWO] = [Uint8Array.from({ length: 16 }, (_, at) => at), new Uint8Array(16).fill(255)];
const ADDRESS = Buffer.from(WALLET.slice(2), "hex");
/** 100 a day to a friend, and any amount to the wallet itself. */
const POLICY = policyOf({
  chains: [{ chainId: CHAIN, perDay: "1000000" }],
  native: [{ chainId: CHAIN, destinations: [FRIEND, "self"], perDay: "100" }],
  messages: ["text"],
});

/** A store of the book's rows, as the host's commits fill it. */
class Ledger {
  now = NOON;
  readonly rows = new Map<string, Uint8Array>();
  readonly refusals: PolicyRefusal[] = [];
  book = this.opened();

  opened(): PolicyDayBook {
    return new PolicyDayBook({
      book: { policy: POLICY, acts: ACTS },
      nowMs: () => this.now,
      refused: (_walletId, refused) => this.refusals.push(refused),
    });
  }

  restart(): readonly string[] {
    this.book = this.opened();
    return this.book.load(this.stored());
  }

  stored(): readonly StateRow[] {
    return [...this.rows].map(([key, value]) => ({ key, value }));
  }

  commit(writes: readonly StateWrite[]): void {
    for (const { namespace, key, value } of writes) {
      expect(namespace).toBe(DAY_NAMESPACE);
      if (value !== null) this.rows.set(key, value);
    }
  }

  judge(input: IntentInput, walletId = ONE): PolicyVerdict {
    const read = this.book.reader(walletId, ADDRESS).read(encodeIntent(input));
    if (read === null) throw new Error("not read");
    return read.judge();
  }

  /** The reservation, made durable; null: nothing new was counted. */
  reserve(input: IntentInput, walletId = ONE): Reservation | null {
    const verdict = this.judge(input, walletId);
    if (!verdict.allowed) throw new Error(`refused by ${verdict.detail}`);
    if (verdict.reservation !== null) this.commit(this.book.writeOf(walletId, verdict.reservation));
    return verdict.reservation;
  }
}

function pay(value: bigint, nonce = 0n, to = FRIEND): IntentInput {
  const gas = { gasPrice: 1n, gasLimit: 1n };
  const transaction = {
    type: "legacy",
    chainId: BigInt(CHAIN),
    nonce,
    ...gas,
    to,
    value,
    data: new Uint8Array(),
  } as const;
  return { kind: "transaction", origin: "service", transaction };
}

const ALLOWED = { allowed: true };
const refusedBy = (rule: keyof typeof POLICY_RULES) => ({ allowed: false, detail: POLICY_RULES[rule] });

describe("an amount", () => {
  it("counts from the row of its reservation on, and not by being judged", () => {
    const ledger = new Ledger();
    expect(ledger.judge(pay(60n))).toMatchObject(ALLOWED);
    expect(ledger.judge(pay(60n, 1n))).toMatchObject(ALLOWED);
    ledger.reserve(pay(60n));
    expect(ledger.judge(pay(60n, 1n))).toEqual(refusedBy("AMOUNT_DAY"));
    expect(ledger.judge(pay(40n, 1n))).toMatchObject(ALLOWED);
  });

  it("counts after a restart, once for each digest", () => {
    const ledger = new Ledger();
    expect(ledger.reserve(pay(60n))).not.toBeNull();
    expect(ledger.restart()).toEqual([]);
    expect(ledger.reserve(pay(60n))).toBeNull();
    expect(ledger.judge(pay(41n, 1n))).toEqual(refusedBy("AMOUNT_DAY"));
    expect(ledger.judge(pay(40n, 1n))).toMatchObject(ALLOWED);
  });

  it("is given back where no signature can exist, durably, and once", () => {
    const ledger = new Ledger();
    const reservation = ledger.reserve(pay(60n));
    if (reservation === null) throw new Error("nothing reserved");
    ledger.commit(ledger.book.releaseOf(ONE, reservation));
    expect(ledger.book.releaseOf(ONE, reservation)).toEqual([]);
    ledger.restart();
    expect(ledger.judge(pay(100n, 1n))).toMatchObject(ALLOWED);
  });

  it("that was not given back durably counts after a restart", () => {
    const ledger = new Ledger();
    const reservation = ledger.reserve(pay(60n));
    if (reservation === null) throw new Error("nothing reserved");
    expect(ledger.book.releaseOf(ONE, reservation)).toHaveLength(1);
    ledger.restart();
    expect(ledger.judge(pay(60n, 1n))).toEqual(refusedBy("AMOUNT_DAY"));
  });

  it("of one wallet is none of another's", () => {
    const ledger = new Ledger();
    ledger.reserve(pay(100n), ONE);
    ledger.restart();
    expect(ledger.judge(pay(1n, 1n), ONE)).toEqual(refusedBy("AMOUNT_DAY"));
    expect(ledger.reserve(pay(100n), TWO)).not.toBeNull();
    expect([...ledger.rows.keys()]).toEqual(["000102030405060708090a0b0c0d0e0f", "ff".repeat(16)]);
  });

  it("is of the day on which it was judged", () => {
    const ledger = new Ledger();
    const verdict = ledger.judge(pay(100n));
    if (!verdict.allowed || verdict.reservation === null) throw new Error("not reserved");
    ledger.now += DAY_MS;
    ledger.commit(ledger.book.writeOf(ONE, verdict.reservation));
    expect(ledger.judge(pay(100n, 1n))).toMatchObject(ALLOWED);
    ledger.reserve(pay(100n, 1n));
    expect(ledger.book.releaseOf(ONE, verdict.reservation)).toEqual([]);
    expect(ledger.judge(pay(1n, 2n))).toEqual(refusedBy("AMOUNT_DAY"));
  });
});

describe("what was spent", () => {
  it("is unknown on the day of a restore, and known from the next day on", () => {
    const ledger = new Ledger();
    ledger.commit(ledger.book.spentOf(ONE));
    for (const restart of [false, true]) {
      if (restart) ledger.restart();
      expect(ledger.judge(pay(1n))).toEqual(refusedBy("DAY_UNKNOWN"));
      expect(ledger.judge({ kind: "message", origin: "service", message: Buffer.from("hi") })).toMatchObject(ALLOWED);
      expect(ledger.judge(pay(1n), TWO)).toMatchObject(ALLOWED);
    }
    ledger.now += DAY_MS;
    expect(ledger.judge(pay(100n))).toMatchObject(ALLOWED);
    ledger.now -= DAY_MS;
    ledger.restart();
    expect(ledger.judge(pay(1n))).toEqual(refusedBy("DAY_UNKNOWN"));
  });

  it("is unknown where the row cannot be read, which is reported", () => {
    const ledger = new Ledger();
    ledger.reserve(pay(1n), ONE);
    ledger.reserve(pay(1n), TWO);
    const key = [...ledger.rows.keys()][0] ?? "";
    ledger.rows.set(key, Buffer.from("{}"));
    expect(ledger.restart()).toEqual([key]);
    expect(ledger.judge(pay(1n, 1n), ONE)).toEqual(refusedBy("DAY_UNKNOWN"));
    expect(ledger.judge(pay(1n, 1n), TWO)).toMatchObject(ALLOWED);
    ledger.now += DAY_MS;
    expect(ledger.judge(pay(1n, 1n), ONE)).toMatchObject(ALLOWED);
  });

  it("is the same from memory and from the rows, whatever happened", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constantFrom("reserve", "reserve and release"), value: fc.bigInt({ min: 0n, max: 60n }) }),
      fc.record({ kind: fc.constantFrom("spent", "day", "day back"), value: fc.constant(0n) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const ledger = new Ledger();
        for (const [index, { kind, value }] of steps.entries()) {
          if (kind === "day") ledger.now += DAY_MS;
          else if (kind === "day back") ledger.now -= DAY_MS;
          else if (kind === "spent") ledger.commit(ledger.book.spentOf(ONE));
          else {
            const verdict = ledger.judge(pay(value, BigInt(index % 4)));
            if (!verdict.allowed || verdict.reservation === null) continue;
            ledger.commit(ledger.book.writeOf(ONE, verdict.reservation));
            if (kind !== "reserve") ledger.commit(ledger.book.releaseOf(ONE, verdict.reservation));
          }
        }
        const probes = [pay(1n, 9n), pay(50n, 9n), pay(100n, 9n), pay(60n, 0n)];
        const fromMemory = probes.map((probe) => ledger.judge(probe));
        ledger.restart();
        const fromRows = probes.map((probe) => ledger.judge(probe));
        // Memory does not know of days long before the latest one, and then allows nothing that spends.
        const unknown = refusedBy("DAY_UNKNOWN");
        const isUnknown = (verdict: PolicyVerdict) => !verdict.allowed && verdict.detail === unknown.detail;
        expect(fromRows.map((verdict, at) => (isUnknown(fromMemory[at] ?? verdict) ? unknown : verdict))).toEqual(
          fromMemory,
        );
      }),
      { numRuns: 1000, seed: 15 },
    );
  });
});

describe("an intent", () => {
  it.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["an unknown kind", Uint8Array.of(9, 0)],
    ["a test", TEST_INTENT],
    ["an intent with a byte more", Buffer.concat([encodeIntent(pay(1n)), Buffer.alloc(1)])],
  ])("that is %s is not read, and its reason is reported", (_, bytes) => {
    const ledger = new Ledger();
    expect(ledger.book.reader(ONE, ADDRESS).read(bytes)).toBeNull();
    expect(ledger.refusals.map(({ rule }) => rule)).toEqual(["INTENT"]);
  });

  it("is judged for the address that the host gives, and each refusal is reported", () => {
    const ledger = new Ledger();
    expect(ledger.judge(pay(1n, 0n, WALLET))).toMatchObject(ALLOWED);
    expect(ledger.judge(pay(1n, 0n, STRANGER))).toEqual(refusedBy("DESTINATION"));
    expect(ledger.refusals.map(({ rule }) => rule)).toEqual(["DESTINATION"]);
  });

  it("that spends is not judged by a clock that gives no time", () => {
    const ledger = new Ledger();
    ledger.now = Number.NaN;
    expect(() => ledger.judge(pay(1n))).toThrow(RangeError);
  });

  it("is not written by a reservation of another maker", () => {
    const ledger = new Ledger();
    for (const made of [{}, { day: 1, digest: "0x", totals: [] }, { day: "1", digest: "0x", totals: new Map() }])
      expect(() => ledger.book.writeOf(ONE, made)).toThrow(TypeError);
  });
});

describe("memory", () => {
  it("holds amounts of two days alone, and a clock that is set back frees nothing", () => {
    const ledger = new Ledger();
    const wallet = (at: number) => Uint8Array.of(...new Uint8Array(15), at);
    for (let day = 0; day < 5; day++) {
      for (let at = 0; at < 20; at++) ledger.reserve(pay(60n), wallet(day * 20 + at));
      expect(ledger.book.heldCount).toBe(day === 0 ? 20 : 40);
      ledger.now += DAY_MS;
    }
    ledger.now -= 2 * DAY_MS;
    // On the day before the last one: who spent on it has the rest, who did not has all.
    expect(ledger.judge(pay(41n, 1n), wallet(70))).toEqual(refusedBy("AMOUNT_DAY"));
    expect(ledger.judge(pay(40n, 1n), wallet(70))).toMatchObject(ALLOWED);
    expect(ledger.judge(pay(100n, 1n), wallet(10))).toMatchObject(ALLOWED);
    ledger.now -= 3 * DAY_MS;
    // What was spent on that day is in the store alone.
    expect(ledger.judge(pay(1n, 1n), wallet(10))).toEqual(refusedBy("DAY_UNKNOWN"));
    ledger.restart();
    expect(ledger.judge(pay(41n, 1n), wallet(10))).toEqual(refusedBy("AMOUNT_DAY"));
    expect(ledger.judge(pay(40n, 1n), wallet(10))).toMatchObject(ALLOWED);
    ledger.now += 30 * DAY_MS;
    expect(ledger.judge(pay(100n, 2n), wallet(10))).toMatchObject(ALLOWED);
    expect(ledger.book.heldCount).toBe(0);
  });
});

describe("what is logged of a refusal", () => {
  it("has no word of an intent that cannot be read", () => {
    const ledger = new Ledger();
    const words = ["payTheSecretTo", "hunter2hunter2", "callersOwnName"];
    const [member, value, type] = words;
    const texts = [
      `{"types":{"EIP712Domain":[],"${type}":[{"name":"${member}","type":"address"}]},"primaryType":"${type}","domain":{},"message":{"${member}":"${value}"}}`,
      `{"types":{"EIP712Domain":[]},"primaryType":"EIP712Domain","domain":{},"message":{},"${member}":"${value}"}`,
      `{"${member}":"${value}"`,
    ];
    for (const text of texts) {
      const intent = encodeIntent({ kind: "typedData", origin: "caller", json: Buffer.from(text) });
      expect(ledger.book.reader(ONE, ADDRESS).read(intent)).toBeNull();
    }
    expect(ledger.refusals.map(({ rule }) => rule)).toEqual(["INTENT", "INTENT", "INTENT"]);
    for (const word of words) expect(JSON.stringify(ledger.refusals)).not.toContain(word);
  });
});
