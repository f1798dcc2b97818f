/** The ledger of a day: against a plain model, and at its edges. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ACTS, CHAIN, message, policyOf, RULES, transaction, FRIEND, WALLET } from "./test/policies.js";
import { intentDigest, type SignIntent } from "../digest/intent.js";
import { decidePolicy } from "./decide.js";
import {
  type DayState,
  markDaySpent,
  MAX_DIGESTS_PER_DAY,
  NEW_DAY_STATE,
  releaseAmounts,
  reserveAmounts,
} from "./daily-amounts.js";
import { decodeDayRow, encodeDayRow } from "./day-row.js";

const DAY = 86_400_000;
const NOON = 20_000 * DAY + DAY / 2;

function digest(number: number): string {
  return `0x${number.toString(16).padStart(64, "0")}`;
}

/** Reserves one amount of one asset; returns the state, or the rule that refuses. */
function reserve(state: DayState, number: number, amount: bigint, nowMs = NOON, perDay = 100n): DayState | string {
  const outcome = reserveAmounts(state, digest(number), [{ asset: "a", amount, perDay }], nowMs);
  return outcome.ok ? outcome.state : outcome.rule;
}

function must(state: DayState | string): DayState {
  if (typeof state === "string") throw new Error(state);
  return state;
}

describe("amounts of a day", () => {
  it("add up to the bound and not beyond it", () => {
    const state = must(reserve(NEW_DAY_STATE, 1, 60n));
    expect(reserve(state, 2, 41n)).toBe("AMOUNT_DAY");
    expect(must(reserve(state, 2, 40n)).totals.get("a")).toBe(100n);
  });

  it("count once for each digest, however often it is tried", () => {
    const state = must(reserve(NEW_DAY_STATE, 1, 60n));
    for (let again = 0; again < 3; again++) {
      const outcome = reserveAmounts(state, digest(1), [{ asset: "a", amount: 60n, perDay: 100n }], NOON);
      expect(outcome).toEqual({ ok: true, state, reservation: null });
    }
  });

  it("count again for the same digest on the next day", () => {
    const state = must(reserve(must(reserve(NEW_DAY_STATE, 1, 60n)), 1, 60n, NOON + DAY));
    expect(state.totals.get("a")).toBe(60n);
    expect(reserve(state, 2, 41n, NOON + DAY)).toBe("AMOUNT_DAY");
  });

  it("begin again with the UTC day, at its first millisecond", () => {
    const state = must(reserve(NEW_DAY_STATE, 1, 100n, 20_001 * DAY - 1));
    expect(reserve(state, 2, 1n, 20_001 * DAY - 1)).toBe("AMOUNT_DAY");
    expect(must(reserve(state, 2, 100n, 20_001 * DAY)).totals.get("a")).toBe(100n);
  });

  it("are not freed by a clock that is set back, nor by one that comes forward again", () => {
    const state = must(reserve(NEW_DAY_STATE, 1, 100n));
    expect(reserve(state, 2, 1n, NOON - 5 * DAY)).toBe("AMOUNT_DAY");
    const back = must(reserve(state, 1, 100n, NOON - DAY));
    expect(reserve(back, 2, 1n, NOON)).toBe("AMOUNT_DAY");
  });

  it("of one intent in one asset are one amount, under the narrowest bound", () => {
    const parts = [
      { asset: "a", amount: 60n, perDay: 100n },
      { asset: "a", amount: 60n, perDay: 200n },
    ];
    expect(reserveAmounts(NEW_DAY_STATE, digest(1), parts, NOON)).toMatchObject({ ok: false, rule: "AMOUNT_DAY" });
    expect(reserveAmounts(NEW_DAY_STATE, digest(1), [...parts].reverse(), NOON)).toMatchObject({ ok: false });
  });

  it("of several assets are counted all or none", () => {
    const both = [
      { asset: "a", amount: 60n, perDay: 100n },
      { asset: "b", amount: 101n, perDay: 100n },
    ];
    expect(reserveAmounts(NEW_DAY_STATE, digest(1), both, NOON)).toMatchObject({ ok: false });
    expect(must(reserve(NEW_DAY_STATE, 1, 100n)).totals.get("a")).toBe(100n);
  });

  it("that are zero spend nothing and are not kept", () => {
    const outcome = reserveAmounts(NEW_DAY_STATE, digest(1), [{ asset: "a", amount: 0n, perDay: 0n }], NOON);
    expect(outcome).toMatchObject({ ok: true, reservation: null });
    expect(outcome.ok && outcome.state.digests.size).toBe(0);
  });

  it("that are negative, and a clock that gives no time, are faults", () => {
    expect(() => reserve(NEW_DAY_STATE, 1, -1n)).toThrow(RangeError);
    for (const now of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5])
      expect(() => reserve(NEW_DAY_STATE, 1, 1n, now)).toThrow(RangeError);
  });

  it("have a bound of intents a day, and known ones pass it", () => {
    let state = NEW_DAY_STATE;
    const digests = new Set(Array.from({ length: MAX_DIGESTS_PER_DAY }, (_, index) => digest(index)));
    state = { ...must(reserve(state, 0, 1n)), digests };
    expect(reserve(state, MAX_DIGESTS_PER_DAY, 1n)).toBe("DAY_FULL");
    expect(must(reserve(state, 5, 1n))).toEqual(state);
    expect(must(reserve(state, MAX_DIGESTS_PER_DAY, 1n, NOON + DAY)).digests.size).toBe(1);
  });

  it("have a bound of assets a day", () => {
    const many = Array.from({ length: 257 }, (_, index) => ({ asset: `a${index}`, amount: 1n, perDay: 1n }));
    expect(reserveAmounts(NEW_DAY_STATE, digest(1), many, NOON)).toMatchObject({ ok: false, rule: "DAY_FULL" });
    expect(reserveAmounts(NEW_DAY_STATE, digest(1), many.slice(1), NOON)).toMatchObject({ ok: true });
  });
});

describe("a store that was put back", () => {
  it("spends nothing more on its day, and the next day as always", () => {
    const state = markDaySpent(NEW_DAY_STATE, NOON);
    expect(reserve(state, 1, 1n)).toBe("DAY_UNKNOWN");
    expect(reserve(state, 1, 1n, NOON - 3 * DAY)).toBe("DAY_UNKNOWN");
    expect(must(reserve(state, 1, 1n, NOON + DAY)).totals.get("a")).toBe(1n);
  });

  it("stays so when it is marked again by a clock that is set back", () => {
    const state = markDaySpent(markDaySpent(NEW_DAY_STATE, NOON), NOON - 3 * DAY);
    expect(reserve(state, 1, 1n)).toBe("DAY_UNKNOWN");
  });

  it("signs what spends nothing", () => {
    expect(reserve(markDaySpent(NEW_DAY_STATE, NOON), 1, 0n)).toMatchObject({ day: 20_000 });
  });
});

describe("a reservation that is given back", () => {
  it("frees what it took, once, and nothing of what others took", () => {
    const first = must(reserve(NEW_DAY_STATE, 1, 30n));
    const outcome = reserveAmounts(first, digest(2), [{ asset: "a", amount: 50n, perDay: 100n }], NOON);
    if (!outcome.ok || outcome.reservation === null) throw new Error("not reserved");
    const released = releaseAmounts(outcome.state, outcome.reservation);
    expect(released).toEqual(first);
    expect(releaseAmounts(released, outcome.reservation)).toEqual(first);
  });

  it("of yesterday frees nothing of today", () => {
    const outcome = reserveAmounts(NEW_DAY_STATE, digest(1), [{ asset: "a", amount: 50n, perDay: 100n }], NOON);
    if (!outcome.ok || outcome.reservation === null) throw new Error("not reserved");
    const today = must(reserve(outcome.state, 1, 50n, NOON + DAY));
    expect(releaseAmounts(today, outcome.reservation)).toEqual(today);
  });
});

describe("the ledger beside a model that keeps every intent", () => {
  const step = fc.record({
    digest: fc.integer({ min: 0, max: 8 }),
    asset: fc.constantFrom("a", "b"),
    amount: fc.bigInt({ min: 0n, max: 60n }),
    hours: fc.integer({ min: -30, max: 30 }),
    act: fc.constantFrom("reserve", "reserve", "reserve", "reserve", "release", "restore", "restart"),
  });

  it("never lets more than the bound out on a day, whatever the clock does", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state = NEW_DAY_STATE;
        let now = NOON;
        let latest = -1;
        let unknown = -1;
        // The model: every amount that was let out and not given back, by the latest day the clock had shown.
        let out: { day: number; asset: string; digest: string; amount: bigint }[] = [];
        for (const { digest: number, asset, amount, hours, act } of steps) {
          now = Math.max(0, now + hours * 3_600_000);
          if (act === "restart") state = decodeDayRow(encodeDayRow(state));
          if (act === "restore") {
            latest = Math.max(latest, Math.floor(now / DAY));
            unknown = latest;
            state = markDaySpent(state, now);
          }
          if (act !== "reserve" && act !== "release") continue;
          latest = Math.max(latest, Math.floor(now / DAY));
          const name = digest(number);
          const isKnown = out.some((entry) => entry.day === latest && entry.digest === name);
          const total = out.reduce(
            (sum, entry) => sum + (entry.day === latest && entry.asset === asset ? entry.amount : 0n),
            0n,
          );
          const expected =
            amount === 0n || isKnown
              ? "known"
              : unknown >= latest
                ? "DAY_UNKNOWN"
                : total + amount > 100n
                  ? "AMOUNT_DAY"
                  : "new";
          const outcome = reserveAmounts(state, name, [{ asset, amount, perDay: 100n }], now);
          expect(outcome.ok ? (outcome.reservation === null ? "known" : "new") : outcome.rule).toBe(expected);
          if (!outcome.ok) continue;
          state = outcome.state;
          if (outcome.reservation === null) continue;
          out.push({ day: latest, asset, digest: name, amount });
          if (act === "release") {
            state = releaseAmounts(state, outcome.reservation);
            out = out.slice(0, -1);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("the row of a day", () => {
  it("is read as it was written", () => {
    const state = markDaySpent(must(reserve(must(reserve(NEW_DAY_STATE, 1, 30n)), 2, 9n)), NOON);
    expect(decodeDayRow(encodeDayRow(state))).toEqual(state);
    expect(decodeDayRow(encodeDayRow(NEW_DAY_STATE))).toEqual(NEW_DAY_STATE);
  });

  it.each([
    ["cut", (text: string) => text.slice(0, -1)],
    ["of another format", (text: string) => text.replace('"format":1', '"format":3')],
    ["with an unknown member", (text: string) => text.replace("{", '{"x":1,')],
    ["without its totals", (text: string) => text.replace(/"totals":\[\[.*?\]\],/, "")],
    ["with a negative total", (text: string) => text.replace('"30"', '"-30"')],
    ["with a total that is a number", (text: string) => text.replace('"30"', "30")],
    ["with a digest twice", (text: string) => text.replace(`"${digest(1)}"`, `"${digest(1)}","${digest(1)}"`)],
    ["with an asset twice", (text: string) => text.replace('["a","30"]', '["a","30"],["a","1"]')],
    ["with a day before all", (text: string) => text.replace('"day":20000', '"day":-2')],
    ["that is a list", () => "[]"],
    ["that is empty", () => ""],
  ])("%s is refused", (_, change) => {
    const text = new TextDecoder().decode(encodeDayRow(must(reserve(NEW_DAY_STATE, 1, 30n))));
    expect(change(text)).not.toBe(text);
    expect(() => decodeDayRow(new TextEncoder().encode(change(text)))).toThrow(RangeError);
  });
});

function digested(intent: SignIntent) {
  return { intent, digest: intentDigest(intent) };
}

describe("the answer to an intent", () => {
  it("holds rules and amounts together, and counts gas", () => {
    const policy = policyOf({ ...RULES, native: [{ ...RULES.native[0], perDay: "80" }] });
    const book = { policy, acts: ACTS };
    const pay = (nonce: bigint) => transaction({ nonce, to: FRIEND, value: 50n });
    const first = decidePolicy(book, digested(pay(0n)), { address: WALLET, day: NEW_DAY_STATE }, NOON);
    if (!first.ok) throw new Error(first.rule);
    expect(Object.fromEntries(first.state.totals)).toEqual({ "chain:42161/gas": 100n, "chain:42161/native": 50n });
    const wallet = { address: WALLET, day: first.state };
    expect(decidePolicy(book, digested(pay(0n)), wallet, NOON)).toMatchObject({ ok: true, reservation: null });
    expect(decidePolicy(book, digested(pay(1n)), wallet, NOON)).toMatchObject({ ok: false, rule: "AMOUNT_DAY" });
    expect(decidePolicy(book, digested(message("hi")), wallet, NOON)).toMatchObject({
      ok: true,
      reservation: null,
      state: first.state,
    });
    expect(decidePolicy(book, digested(transaction({ chainId: 9n })), wallet, NOON)).toMatchObject({
      ok: false,
      rule: "CHAIN",
    });
  });
});

describe("a transaction that is signed again at another price of gas", () => {
  const book = { policy: policyOf(RULES), acts: ACTS };
  const pay = (gasPrice: bigint, change = {}) => digested(transaction({ to: FRIEND, value: 50n, gasPrice, ...change }));
  const decided = (day: DayState, what: ReturnType<typeof pay>) => {
    const outcome = decidePolicy(book, what, { address: WALLET, day: decodeDayRow(encodeDayRow(day)) }, NOON);
    if (!outcome.ok) throw new Error(outcome.rule);
    return outcome;
  };
  const totals = ({ totals: all }: DayState) => [all.get("chain:42161/native"), all.get("chain:42161/gas")];

  it("counts once, with the gas of the dearest, whatever comes first", () => {
    const dearer = decided(decided(NEW_DAY_STATE, pay(1n)).state, pay(3n));
    expect(totals(dearer.state)).toEqual([50n, 300n]);
    const cheaper = decided(dearer.state, pay(2n));
    expect(totals(cheaper.state)).toEqual([50n, 300n]);
    expect(totals(decided(cheaper.state, pay(4n)).state)).toEqual([50n, 400n]);
    expect(decided(cheaper.state, pay(2n))).toMatchObject({ reservation: null });
  });

  it("counts again with another nonce, receiver, value, data or chain, and on another day", () => {
    const roomy = policyOf({ ...RULES, native: [{ chainId: CHAIN, destinations: [FRIEND], perDay: "1000" }] });
    const first = decidePolicy({ ...book, policy: roomy }, pay(1n), { address: WALLET, day: NEW_DAY_STATE }, NOON);
    if (!first.ok) throw new Error(first.rule);
    for (const change of [{ nonce: 1n }, { value: 49n }]) {
      const wallet = { address: WALLET, day: first.state };
      const next = decidePolicy({ ...book, policy: roomy }, pay(2n, change), wallet, NOON);
      const value = "value" in change ? change.value : 50n;
      expect(next.ok && totals(next.state)).toEqual([50n + value, 300n]);
    }
    const tomorrow = decidePolicy(book, pay(2n), { address: WALLET, day: first.state }, NOON + DAY);
    expect(tomorrow.ok && totals(tomorrow.state)).toEqual([50n, 200n]);
  });

  it("is still held to what gas may cost on a day", () => {
    const low = policyOf({ ...RULES, chains: [{ chainId: CHAIN, perDay: "450" }] });
    const before = decided(NEW_DAY_STATE, pay(1n, { nonce: 5n, value: 10n })).state;
    const wallet = { address: WALLET, day: decided(before, pay(1n)).state };
    expect(decidePolicy({ ...book, policy: low }, pay(3n), wallet, NOON).ok).toBe(true);
    expect(decidePolicy({ ...book, policy: low }, pay(4n), wallet, NOON)).toMatchObject({ rule: "AMOUNT_DAY" });
  });

  it("gives back what it took alone, and nothing that one since then counts on", () => {
    const first = decided(NEW_DAY_STATE, pay(1n));
    const second = decided(first.state, pay(3n));
    if (first.reservation === null || second.reservation === null) throw new Error("not reserved");
    expect(releaseAmounts(second.state, second.reservation)).toEqual(first.state);
    expect(totals(releaseAmounts(first.state, first.reservation))).toEqual([undefined, undefined]);
    // No signature of the first, but perhaps one of the second.
    expect(totals(releaseAmounts(second.state, first.reservation))).toEqual([50n, 300n]);
    const cheaper = decided(first.state, pay(0n));
    expect(totals(releaseAmounts(cheaper.state, first.reservation))).toEqual([50n, 100n]);
  });
});

describe("whoever asks for transactions of a few nonces at many prices", () => {
  const step = fc.record({
    payload: fc.integer({ min: 1, max: 4 }),
    gas: fc.bigInt({ min: 0n, max: 9n }),
    act: fc.constantFrom("sign", "sign", "giveUp", "giveUpLater", "restart", "tomorrow"),
  });
  const AMOUNTS = [10n, 20n, 30n, 40n];
  const PER_DAY = { amount: 80n, gas: 25n };

  it("never gets more signed on a day than its bounds, in whatever order sessions end", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state = NEW_DAY_STATE;
        let now = NOON;
        /** Of the day: by payload the dearest gas that may have been signed. */
        let signed = new Map<number, bigint>();
        const later: Parameters<typeof releaseAmounts>[1][] = [];
        for (const { payload, gas, act } of steps) {
          if (act === "restart") state = decodeDayRow(encodeDayRow(state));
          if (act === "tomorrow") {
            now += DAY;
            signed = new Map();
          }
          const amounts = [
            { asset: "token", amount: AMOUNTS[payload - 1] ?? 0n, perDay: PER_DAY.amount },
            { asset: "gas", amount: gas, perDay: PER_DAY.gas },
          ];
          const same = { key: digest(payload), gasAsset: "gas", gas };
          const name = digest(100 * payload + Number(gas));
          // A session of the very intent is open: there is one at a time.
          if (later.some((one) => one.digest === name)) continue;
          const outcome = reserveAmounts(state, name, amounts, now, same);
          if (!outcome.ok) continue;
          state = outcome.state;
          const { reservation } = outcome;
          if (act === "giveUp" && reservation !== null) state = releaseAmounts(state, reservation);
          else if (act === "giveUpLater" && reservation !== null) later.push(reservation);
          else {
            const before = signed.get(payload) ?? 0n;
            signed.set(payload, gas > before ? gas : before);
          }
          if (act === "sign") for (const one of later.splice(0, 1)) state = releaseAmounts(state, one);
          const all = [...signed];
          const spent = all.reduce((sum, [key]) => sum + (AMOUNTS[key - 1] ?? 0n), 0n);
          const burnt = all.reduce((sum, [, most]) => sum + most, 0n);
          expect(spent <= PER_DAY.amount && burnt <= PER_DAY.gas, `${spent} ${burnt}`).toBe(true);
          expect((state.totals.get("token") ?? 0n) >= spent && (state.totals.get("gas") ?? 0n) >= burnt).toBe(true);
          expect(state.payloads.size).toBeLessThanOrEqual(state.digests.size);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the row of a day with transactions", () => {
  const state = (() => {
    const outcome = decidePolicy(
      { policy: policyOf(RULES), acts: ACTS },
      digested(transaction({ to: FRIEND, value: 50n })),
      { address: WALLET, day: NEW_DAY_STATE },
      NOON,
    );
    if (!outcome.ok) throw new Error(outcome.rule);
    return outcome.state;
  })();
  const text = new TextDecoder().decode(encodeDayRow(state));

  it("is read as it was written, as is one of the format before", () => {
    expect(text).toContain('"format":2');
    expect(decodeDayRow(encodeDayRow(state))).toEqual(state);
    const before = text.replace('"format":2', '"format":1').replace(/,"payloads":.*]/, "");
    expect(decodeDayRow(new TextEncoder().encode(before))).toEqual({ ...state, payloads: new Map() });
  });

  it.each([
    ["without them", /,"payloads":.*]/, ""],
    ["with one of no gas", /"100",1\]/, "1]"],
    ["with one of no use", /"100",1\]/, '"100",0]'],
    ["with one of no name", /"payloads":\[\["0x/, '"payloads":[["'],
    ["twice", /"payloads":\[(.*)\]\}/, '"payloads":[$1,$1]}'],
  ])("%s is refused", (_, what, by) => {
    const changed = text.replace(what, by);
    expect(changed).not.toBe(text);
    expect(() => decodeDayRow(new TextEncoder().encode(changed))).toThrow(RangeError);
  });
});
