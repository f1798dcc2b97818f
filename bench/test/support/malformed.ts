/**
 * Seeded makers of malformed input. A malformed close breaks the interface in at least one way, so that its acceptance
 * is a finding. A malformed frame is a real one, damaged.
 */
import type { Random } from "../../../engine/domain/random.js";

export interface MalformedClose {
  readonly kind: string;
  readonly body: Buffer;
}

type Fields = Record<string, unknown>;

const WRONG_TYPES: readonly unknown[] = [true, 7, -1, 1e308, [], ["BTC"], {}, { a: {} }];
const BAD_NUMBERS: readonly string[] = [
  "",
  " ",
  "NaN",
  "Infinity",
  "-0.01",
  "0",
  "0.0",
  "1e5",
  "0x10",
  "+1",
  ".5",
  "5.",
  "01",
  "1,5",
  "1 000",
  "٣",
  "0.0000000000000000001",
  "9".repeat(41),
  "1234567890123456789",
  "all",
  "\u0000",
  "null",
];
/** More than any position of the fuzzing trader. */
const TOO_MUCH: readonly string[] = ["2.00001", "4.1", "1000", "999999999"];

/** Field → values that are always wrong for it. */
const BAD_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  symbol: ["", " ", "NOPE", "BTC\u0000", "B".repeat(41), "../BTC", "BTC BTC", "💥", null, ...WRONG_TYPES],
  direction: ["", "long", "BUY", "LONGSHORT", "L".repeat(999), null, ...WRONG_TYPES],
  size: [...BAD_NUMBERS, ...TOO_MUCH, null, true, 7, [], {}],
  orderType: ["", "market", "TWAP", "STOP_MARKET", "STOP_LIMIT", "LIMIT", true, 7, [], {}],
  limitPrice: [...BAD_NUMBERS, "100000", true, 7, [], {}],
  triggerPrice: ["1", "NaN", true, {}],
  preferredExchange: ["", "venuenine", "VENUEONE", "venuethree", "venuefour", "venuefive", true, 7, [], {}],
  credentials: [null, "", "venueone", true, 7, [], {}],
  clientOrderId: ["", "a b", "é", "x".repeat(65), "\n", true, 7, [], {}],
  dryRun: ["true", "", 0, 1, [], {}],
  quoteId: ["qt_1", "", 7, {}],
  quoteTtlMs: [0, 999, 30_001, 1.5, "2000", true, {}],
  routingOptions: ["", true, 7, []],
};

const BAD_OPTIONS: Readonly<Record<string, readonly unknown[]>> = {
  maxSlippageBps: [0, -1, 1001, 1e9, "100", true, [], {}],
  maxQuoteAgeMs: [0, -5, 1e12, "2000", true, {}],
  deadlineMs: [0, 249, 30_001, 1.5, "500", true, {}],
  allowSplit: ["false", 1, {}],
  maxLegs: [0, 4, 1.5, "1", {}],
  excludeExchanges: [
    "venueone",
    ["venuenine"],
    [1],
    {},
    ["venueone", "venuetwo"],
    Array.from({ length: 6 }, () => "venueone"),
  ],
  waitFor: ["", "ack", true, {}],
};

const REQUIRED = ["symbol", "direction", "size", "credentials"];
const BAD_CREDENTIALS: readonly unknown[] = [
  { venueone: { privateKey: 7 } },
  { venueone: "0x00" },
  { venueone: { privateKey: "" } },
  { venueone: { privateKey: "0x1234" } },
  { venueone: { privateKey: `0x${"0".repeat(64)}` } },
  { venueone: { privateKey: `0x${"f".repeat(64)}` } },
  { venueone: { privateKey: "k".repeat(513) } },
  { venuetwo: { apiKey: "k" } },
  { venuetwo: { apiKey: "k\r\nX: y", apiSecret: "s" } },
  { venuetwo: { apiKey: "", apiSecret: "" } },
  { venuetwo: { apiKey: ["k"], apiSecret: { s: 1 } } },
  { venuetwo: [] },
  { venuethree: { apiKeyPrivateKey: "k", accountIndex: -1 } },
];

/** Returns a live close with good credentials and something wrong with it. */
export function mutateClose(random: Random, credentials: unknown): MalformedClose {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const good: Fields = {
    symbol: "BTC",
    direction: "LONG",
    size: "0.01",
    orderType: "MARKET",
    limitPrice: null,
    preferredExchange: null,
    credentials,
    clientOrderId: "c-1",
    dryRun: false,
    routingOptions: { deadlineMs: 500 },
  };
  const json = (kind: string, body: unknown): MalformedClose => ({ kind, body: Buffer.from(JSON.stringify(body)) });
  switch (pick(["field", "field", "field", "option", "missing", "credentials", "shape", "bytes", "bytes"])) {
    case "field": {
      const name = pick(Object.keys(BAD_VALUES));
      return json(`field ${name}`, { ...good, [name]: pick(BAD_VALUES[name] ?? []) });
    }
    case "option": {
      const name = pick(Object.keys(BAD_OPTIONS));
      return json("option", { ...good, routingOptions: { [name]: pick(BAD_OPTIONS[name] ?? []) } });
    }
    case "missing": {
      const name = pick(REQUIRED);
      return json("missing", Object.fromEntries(Object.entries(good).filter(([key]) => key !== name)));
    }
    case "credentials":
      return json("credentials", { ...good, credentials: pick(BAD_CREDENTIALS) });
    case "shape":
      return json(
        "shape",
        pick([
          [],
          [good],
          null,
          7,
          "text",
          true,
          { ...good, size: "0.01", sizePercent: "10" },
          { ...good, size: null, sizePercent: pick(["0", "100.1", "-1", "NaN", "1e1", 50, ""]) },
        ]),
      );
    default:
      return { kind: "bytes", body: damage(random, Buffer.from(JSON.stringify({ ...good, credentials: {} }))) };
  }
}

/** Changes bytes so that no JSON object with known credentials is left; the credentials are invalid in any case. */
function damage(random: Random, bytes: Buffer): Buffer {
  let damaged: Buffer = Buffer.from(bytes);
  for (let count = 1 + Math.floor(random.next() * 4); count > 0 && damaged.length > 1; count--)
    damaged = mutateBytes(random, damaged);
  return damaged;
}

function mutateBytes(random: Random, bytes: Buffer): Buffer {
  const at = Math.floor(random.next() * bytes.length);
  switch (Math.floor(random.next() * 6)) {
    case 0:
      bytes[at] = Math.floor(random.next() * 256);
      return bytes;
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + Math.floor(random.next() * 8))]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([Math.floor(random.next() * 256)]), bytes.subarray(at)]);
    case 3:
      return bytes.subarray(0, Math.max(1, at));
    case 4:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xc3, 0x28, 0x00]), bytes.subarray(at)]);
    default:
      return Buffer.concat([bytes, bytes.subarray(at)]);
  }
}

const ODD_VALUES: readonly string[] = [
  "null",
  "true",
  "-1",
  "0",
  "1e999",
  "1e-7",
  "9007199254740993",
  '""',
  '"NaN"',
  '"-5"',
  '"1e5"',
  '"0.00000000001"',
  `"${"9".repeat(30)}"`,
  '"\\u0000"',
  "[]",
  "{}",
  "[[]]",
  '[["1"]]',
  '[["1","2","3"]]',
  '"12.5\\n"',
];
const WHOLE: readonly string[] = [
  "",
  " ",
  "null",
  "[]",
  "{}",
  "7",
  '"text"',
  "{",
  "[[[[[[[[",
  '{"channel":null}',
  '{"channel":"l2Book"}',
  '{"channel":"l2Book","data":null}',
  '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[]}}',
  '{"channel":"pong"',
  '{"stream":"btcusdt@depth@100ms","data":{}}',
  '{"stream":7,"data":[]}',
  '{"e":"depthUpdate"}',
  '{"result":null,"id":-1}',
  '{"result":{},"id":"x"}',
  '{"channel":"error","data":{}}',
  "\u0000\u0001",
  "\ufeff{}",
];

export interface MalformedFrame {
  readonly venueIndex: number;
  readonly kind: string;
  readonly data: Buffer;
}

/** Damages frames of the corpora, one per venue. The damages include deep nesting and long junk. */
export class FrameMutator {
  readonly #random: Random;
  readonly #corpora: readonly (readonly Buffer[])[];

  constructor(random: Random, corpora: readonly (readonly Buffer[])[]) {
    this.#random = random;
    this.#corpora = corpora.map((frames) => [...frames]);
  }

  next(): MalformedFrame {
    const venueIndex = this.#int(this.#corpora.length);
    const frame = this.#frame(venueIndex);
    const kind = this.#pick([
      "bytes",
      "bytes",
      "value",
      "value",
      "cut",
      "splice",
      "foreign",
      "whole",
      "nested",
      "stale",
    ]);
    return { venueIndex, kind, data: this.#damage(kind, frame, venueIndex) };
  }

  #damage(kind: string, frame: Buffer, venueIndex: number): Buffer {
    switch (kind) {
      case "bytes":
        return damage(this.#random, frame);
      case "value": {
        // Replaces one value in the text.
        const values = [...frame.toString("latin1").matchAll(/:("[^"]*"|-?[\d.]+|true|false|null)/g)];
        const chosen = values[this.#int(Math.max(1, values.length))];
        if (chosen === undefined) return Buffer.from("{}");
        const text = frame.toString("latin1");
        const start = chosen.index + 1;
        return Buffer.from(
          text.slice(0, start) + this.#pick(ODD_VALUES) + text.slice(start + (chosen[1] ?? "").length),
          "latin1",
        );
      }
      case "cut":
        return frame.subarray(0, this.#int(frame.length));
      case "splice": {
        const other = this.#frame(venueIndex);
        return Buffer.concat([frame.subarray(0, this.#int(frame.length)), other.subarray(this.#int(other.length))]);
      }
      case "foreign":
        return this.#frame((venueIndex + 1) % this.#corpora.length);
      case "whole":
        return Buffer.from(this.#pick(WHOLE));
      case "nested":
        return Buffer.from(`{"channel":"l2Book","data":${"[".repeat(this.#int(20_000))}`);
      default:
        // An old frame from long ago, unchanged.
        return Buffer.from(frame);
    }
  }

  #frame(venueIndex: number): Buffer {
    return Buffer.from(this.#pick(this.#corpora[venueIndex] ?? []));
  }

  #int(below: number): number {
    return Math.floor(this.#random.next() * below);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#int(items.length)] as T;
  }
}
