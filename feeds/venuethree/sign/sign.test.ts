import { describe, expect, it } from "vitest";
import { scalarFromBytes } from "./curve.js";
import { nonceOf } from "./schnorr.js";
import { hashTransaction, TX_CREATE_ORDER, type TxFields } from "./tx.js";
import { signTransaction } from "./sign.js";

const KEY = Buffer.from("17d38d1fb3870b006340a552459590f8a3ad60bf6c73db8a455cf70a14b19e8565511aa384121842", "hex");
const K = scalarFromBytes(
  Buffer.from("21c16b43b2a22f326bdcf5e6a6c897562b239f142e634e550d37d081e566206613334fe6dbce0f70", "hex"),
);
const ORDER: TxFields = {
  AccountIndex: 281474976710608,
  ApiKeyIndex: 178,
  MarketIndex: 2048,
  ClientOrderIndex: 1,
  BaseAmount: 106345968479,
  Price: 480616471,
  IsAsk: 1,
  Type: 0,
  TimeInForce: 1,
  ReduceOnly: 0,
  TriggerPrice: 0,
  OrderExpiry: 1800588487125,
  ExpiredAt: 1790146553073,
  Nonce: 934915,
};

describe("signTransaction", () => {
  it("gives the bytes of the venue's own signer for the same k", () => {
    const signed = signTransaction(300, TX_CREATE_ORDER, ORDER, new Map([[4, 1]]), KEY, nonceOf(K));
    expect(signed.hash).toBe("efeef1cacb656af9b3001c93186c451f5f29967234641f3d0a5216b19bb124d1b1671f0a3498e08d");
    expect(signed.text).toBe(
      '{"AccountIndex":281474976710608,"ApiKeyIndex":178,"MarketIndex":2048,"ClientOrderIndex":1,"BaseAmount":106345968479,"Price":480616471,"IsAsk":1,"Type":0,"TimeInForce":1,"ReduceOnly":0,"TriggerPrice":0,"OrderExpiry":1800588487125,"ExpiredAt":1790146553073,"Nonce":934915,"Sig":"lag0kdnPZzpt2HC6DaTUX9pI2SWRLhaIqcyREYkAzdFEfVBm4JOhEYFAg8yitEr6uM5Lxk0RempEM9UUzTXpUBHOaijTIbAWUVhdxRUnV3o=","L2TxAttributes":{"4":1}}',
    );
  });

  it("hashes attributes at their nil value like none", () => {
    const hashOf = (attributes: ReadonlyMap<number, number> | null) =>
      hashTransaction(304, TX_CREATE_ORDER, ORDER, attributes);
    const none = hashOf(null);
    expect(hashOf(new Map())).toEqual(none);
    expect(
      hashOf(
        new Map([
          [1, 0],
          [2, 0],
          [3, 0],
          [5, 255],
        ]),
      ),
    ).toEqual(none);
    expect(hashOf(new Map([[4, 1]]))).not.toEqual(none);
    expect(hashOf(new Map([[5, 0]]))).not.toEqual(none);
  });

  it.each([
    ["an unknown type", 99, ORDER],
    ["a missing field", TX_CREATE_ORDER, { ...ORDER, Price: undefined as unknown as number }],
    ["a fraction", TX_CREATE_ORDER, { ...ORDER, Price: 1.5 }],
    ["a number that cannot be exact", TX_CREATE_ORDER, { ...ORDER, BaseAmount: 2 ** 53 }],
  ])("refuses a transaction with %s", (_what, type, fields) => {
    expect(() => signTransaction(304, type, fields, null, KEY)).toThrow(RangeError);
  });

  it("refuses more attributes than the venue takes", () => {
    const five = new Map([1, 2, 3, 4, 6].map((code) => [code, 1] as const));
    expect(() => hashTransaction(304, TX_CREATE_ORDER, ORDER, five)).toThrow("more than 4 attributes");
  });
});
