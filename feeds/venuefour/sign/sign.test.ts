import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readFixture } from "../fixtures/load.js";
import {
  canonicalJson,
  isAddress,
  isExpired,
  type Operation,
  readPrivateKey,
  signedBody,
  signedFrame,
  type SignedFields,
  type SignedValue,
  signedMessage,
  type SigningKey,
  verifySignature,
} from "./sign.js";

interface Recorded {
  readonly id: string;
  readonly privateKey: string;
  readonly account: string;
  readonly operationType: Operation["type"];
  readonly timestamp: number;
  readonly expiryWindow: number;
  readonly payload: SignedFields;
  readonly expected: { readonly message: string; readonly signature: string; readonly restBody: SignedFields };
}

const VECTORS = JSON.parse(readFixture("trading/vectors.json")) as readonly Recorded[];

function recorded(id: string): Recorded & { readonly key: SigningKey; readonly operation: Operation } {
  const found = VECTORS.find((vector) => vector.id === id);
  if (found === undefined) throw new Error(`no vector ${id}`);
  const { operationType: type, timestamp, expiryWindow, payload } = found;
  return { ...found, key: keyOf(found.privateKey), operation: { type, timestamp, expiryWindow, payload } };
}

function keyOf(text: string): SigningKey {
  const read = readPrivateKey(text);
  if (read === null) throw new Error("no key");
  return read.key;
}

const MARKET = recorded("close-market-kBONK-ask");

describe("canonical text", () => {
  it("is that of the request the testnet accepted, and so is its signature", () => {
    const { key, operation, expected } = recorded("ccxt-limit-bid");
    expect(signedMessage(operation)).toBe(
      '{"data":{"amount":"0.002","price":"87768","reduce_only":false,"side":"bid","symbol":"BTC","tif":"GTC"},' +
        '"expiry_window":5000,"timestamp":1769554042037,"type":"create_order"}',
    );
    expect(key.sign(signedMessage(operation))).toBe(
      "X5vn4dC5y97EBxrWpgAUfor8N29tNkv4Puqrry33iWLJp2QZmHVVmD1JHGj86JDTVhGAYUU5PyS8uUxY8hmoTKW",
    );
    expect(expected.signature).toHaveLength(87);
  });

  const text = fc.stringMatching(/^[ -~]{0,8}$/);
  const value = fc.letrec<{ value: SignedValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 5 }),
    ),
  })).value;

  it("says the same whatever the order of keys, and is JSON of the same value", () => {
    const reversed = (input: unknown): unknown => {
      if (Array.isArray(input)) return input.map(reversed);
      if (typeof input !== "object" || input === null) return input;
      return Object.fromEntries(
        Object.entries(input)
          .reverse()
          .map(([name, inner]) => [name, reversed(inner)]),
      );
    };
    fc.assert(
      fc.property(value, (input) => {
        const written = canonicalJson(input);
        expect(canonicalJson(reversed(input) as SignedValue)).toBe(written);
        expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(input)));
        // Nothing but the value: no blanks outside texts.
        expect(JSON.stringify(JSON.parse(written))).toHaveLength(written.length);
      }),
    );
  });

  it.each([[0.5], [Number.NaN], [2 ** 53], ["é"], ["\n"]])("refuses what clients write differently: %j", (input) => {
    expect(() => canonicalJson({ data: [input] })).toThrowError(/Internal/);
  });
});

describe("bodies", () => {
  it("are flat, name the agent, and not the operation", () => {
    const { key, operation, account, expected } = MARKET;
    const body = signedBody(operation, account, key);
    expect(body).toEqual(expected.restBody);
    expect(Object.keys(body)).not.toContain("type");
    expect(body["agent_wallet"]).toBe(key.publicKey);
  });

  it("of the account's own key name no agent", () => {
    const { key, operation } = MARKET;
    expect(signedBody(operation, key.publicKey, key)).not.toHaveProperty("agent_wallet");
  });

  it("go over the socket under the operation's name, with the id of the request", () => {
    const { key, operation, account } = MARKET;
    expect(signedFrame(operation, account, key, "an-id")).toEqual({
      id: "an-id",
      params: { create_market_order: signedBody(operation, account, key) },
    });
  });

  it("verify, and no more once anything signed is changed", () => {
    const { key, operation } = MARKET;
    const signature = key.sign(signedMessage(operation));
    const verdict = (changed: Partial<Operation>) =>
      verifySignature(signedMessage({ ...operation, ...changed }), signature, key.publicKey);
    expect(verdict({})).toBe("valid");
    expect(verdict({ type: "create_order" })).toBe("mismatch");
    expect(verdict({ timestamp: operation.timestamp + 1 })).toBe("mismatch");
    expect(verdict({ expiryWindow: 30_000 })).toBe("mismatch");
    expect(verdict({ payload: { ...operation.payload, amount: `${String(operation.payload["amount"])}.0` } })).toBe(
      "mismatch",
    );
    expect(verifySignature("x", signature, MARKET.account)).toBe("mismatch");
    expect(verifySignature("x", "1234", key.publicKey)).toBe("malformed");
    expect(verifySignature("x", signature, "1234")).toBe("malformed");
  });

  it("are good to the last millisecond of their window", () => {
    expect([isExpired(1_000, 500, 1_500), isExpired(1_000, 500, 1_501)]).toEqual([false, true]);
  });
});

describe("private keys", () => {
  const whole = recorded("close-market-kBONK-ask").privateKey;
  const seed = VECTORS.find(({ id }) => id === "key-seed-only-agent-1")?.privateKey ?? "";
  const array = VECTORS.find(({ id }) => id === "key-json-array-agent-1")?.privateKey ?? "";

  it("of all three forms are the same key", () => {
    expect([whole, seed, array].map((text) => readPrivateKey(text)?.byteCount)).toEqual([64, 32, 64]);
    expect(new Set([whole, seed, array].map((text) => keyOf(text).publicKey)).size).toBe(1);
    expect(isAddress(keyOf(seed).publicKey)).toBe(true);
  });

  it.each([
    "",
    "1",
    whole.slice(1),
    `${whole} `,
    "[1,2,3]",
    "[",
    array.replace("[247", "[256"),
    array.replace("[247", "[246"),
    `[${"1,".repeat(400)}1]`,
    '["1"]',
  ])("that are none are refused (%#)", (text) => {
    expect(readPrivateKey(text)).toBeNull();
  });

  it("show nothing of themselves", () => {
    const key = keyOf(seed);
    expect(JSON.stringify({ key })).toBe('{"key":{}}');
    expect(inspect(key)).toBe("SigningKey {}");
    expect(inspect({ deep: { key } }, { showHidden: true })).not.toContain(seed);
  });
});
