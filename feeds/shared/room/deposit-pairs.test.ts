/** What an operator may write as deposit pairs, and what is refused. */
import { describe, expect, it } from "vitest";
import { readDepositPairs, withDefaults } from "./deposit-pairs.js";

const TOKEN = `0x${"Ab".repeat(20)}`;
const VAULT = `0x${"Cd".repeat(20)}`;
const PAIR = { chainId: 1, symbol: "USDT", address: TOKEN, decimals: 6, resetsAllowance: true, vault: VAULT };
const read = (value: unknown, minimum = "1.5") => readDepositPairs(JSON.stringify(value), "vault", minimum);

describe("deposit pairs", () => {
  it("are read with their minimum in the token's unit, addresses in lower case", () => {
    expect(read([PAIR, { ...PAIR, chainId: 56, decimals: 18, resetsAllowance: undefined }])).toEqual({
      ok: true,
      pairs: [
        {
          ...{ chainId: 1, symbol: "USDT", address: TOKEN.toLowerCase(), decimals: 6, resetsAllowance: true },
          ...{ contract: VAULT.toLowerCase(), minimum: 1_500_000n },
        },
        expect.objectContaining({ chainId: 56, resetsAllowance: false, minimum: 1_500_000_000_000_000_000n }),
      ],
    });
    expect(readDepositPairs("", "vault", "1")).toEqual({ ok: true, pairs: [] });
  });

  it.each([
    ["no JSON", "{", "must be a JSON list"],
    ["an object", JSON.stringify(PAIR), "must be a JSON list of 1 to 32 pairs"],
    ["an empty list", "[]", "must be a JSON list of 1 to 32 pairs"],
    ["a text for a pair", '["USDT"]', "pair 1: must be an object"],
    ["the same pair twice", JSON.stringify([PAIR, PAIR]), "pair 2 is there twice"],
  ])("are refused as %s", (_, text, problem) => {
    expect(readDepositPairs(text, "vault", "1")).toEqual({ ok: false, problem });
  });

  it.each([
    [{ chainId: "1" }, "chainId must be a whole number from 1"],
    [{ symbol: "usdt" }, "symbol must be a name such as USDT"],
    [{ address: "0x1" }, "address must be 0x and 40 hex digits"],
    [{ vault: undefined }, "vault must be 0x and 40 hex digits"],
    [{ decimals: 6.5 }, "decimals must be a whole number from 0 to 36"],
    [{ resetsAllowance: 1 }, "resetsAllowance must be true or false"],
    [{ decimals: 0 }, "the minimum deposit is finer than the token"],
    [{ minimum: "1" }, 'has the unknown member "minimum"'],
  ])("are refused with %j", (change, problem) => {
    expect(read([{ ...PAIR, ...change }])).toEqual({ ok: false, problem: `pair 1: ${problem}` });
  });

  it("take the place of the default of their chain and symbol, and leave the others", () => {
    const own = [{ chainId: 56, symbol: "USDT", name: "own" }];
    const defaults = [
      { chainId: 56, symbol: "USDT", name: "default" },
      { chainId: 1, symbol: "USDT", name: "default" },
    ];
    expect(withDefaults(own, defaults)).toEqual([own[0], defaults[1]]);
  });
});
