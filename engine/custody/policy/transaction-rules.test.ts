/** What a transaction may do, and the ways to hide in one what it does. */
import fc from "fast-check";
import { encodeFunctionData, parseAbi, toFunctionSelector } from "viem";
import { describe, expect, it } from "vitest";
import { concat, readHex } from "../digest/bytes.js";
import { decodeCall, readSignature } from "./calldata.js";
import {
  CHAIN,
  FRIEND,
  FULL,
  judged,
  OTHER_TOKEN,
  policyOf,
  RULES,
  spent,
  STRANGER,
  TOKEN,
  transaction,
  VAULT,
  WALLET,
} from "./test/policies.js";

const ABI = parseAbi([
  "function transfer(address to, uint256 amount)",
  "function approve(address spender, uint256 amount)",
  "function transferFrom(address from, address to, uint256 amount)",
  "function setApprovalForAll(address operator, bool approved)",
  "function deposit(address currency, uint256 amount, uint256 broker)",
  "function depositNative(uint256 broker)",
  "function withdrawTo(address owner, address to)",
  "function multicall(bytes[] calls)",
]);

function bytes(hex: string): Uint8Array {
  const read = readHex(hex);
  if (read === null) throw new Error("not hex");
  return read;
}

// The arguments are checked by what they encode to.
function call(functionName: string, args: readonly unknown[]): Uint8Array {
  return bytes(
    encodeFunctionData({ abi: ABI, functionName, args } as unknown as Parameters<typeof encodeFunctionData>[0]),
  );
}

const TOKEN_ASSET = `chain:${CHAIN}/token:${TOKEN}`;

describe("a token's method", () => {
  it("counts its amount towards the destination", () => {
    expect(spent(transaction({ data: call("transfer", [FRIEND, 40n]) }))).toEqual({ [TOKEN_ASSET]: 40n });
  });

  it("of an allowance counts as an amount towards the spender", () => {
    expect(spent(transaction({ data: call("approve", [VAULT, 40n]) }))).toEqual({ [TOKEN_ASSET]: 40n });
    expect(judged(transaction({ data: call("approve", [STRANGER, 1n]) }))).toBe("DESTINATION");
    expect(judged(transaction({ data: call("approve", [VAULT, (1n << 256n) - 1n]) }))).toBe("AMOUNT_EACH");
  });

  it("of transferFrom has its destination in the second place", () => {
    const policy = policyOf({ ...RULES, tokens: [{ ...RULES.tokens[0], methods: ["transferFrom"] }] });
    expect(spent(transaction({ data: call("transferFrom", [STRANGER, FRIEND, 5n]) }), policy)).toEqual({
      [TOKEN_ASSET]: 5n,
    });
    expect(judged(transaction({ data: call("transferFrom", [FRIEND, STRANGER, 5n]) }), policy)).toBe("DESTINATION");
  });

  it.each([
    ["to a stranger", { data: call("transfer", [STRANGER, 1n]) }, "DESTINATION"],
    ["to the wallet, which is not listed", { data: call("transfer", [WALLET, 1n]) }, "DESTINATION"],
    ["of zero to a stranger", { data: call("approve", [STRANGER, 0n]) }, "DESTINATION"],
    ["at the bound of one intent", { data: call("transfer", [FRIEND, 60n]) }, "ok"],
    ["above the bound of one intent", { data: call("transfer", [FRIEND, 61n]) }, "AMOUNT_EACH"],
    ["that is not listed", { data: call("transferFrom", [WALLET, FRIEND, 1n]) }, "METHOD"],
    ["that gives everything away", { data: call("setApprovalForAll", [FRIEND, true]) }, "METHOD"],
    ["inside other calldata", { data: call("multicall", [[`0x${"00".repeat(4)}`]]) }, "METHOD"],
    ["with native money", { data: call("transfer", [FRIEND, 1n]), value: 1n }, "VALUE"],
    ["of another token", { to: OTHER_TOKEN, data: call("transfer", [FRIEND, 1n]) }, "CONTRACT"],
    ["on another chain", { chainId: 1n, data: call("transfer", [FRIEND, 1n]) }, "CONTRACT"],
    ["on a chain that is not listed", { chainId: 56n, data: call("transfer", [FRIEND, 1n]) }, "CHAIN"],
    ["with a byte behind", { data: concat([call("transfer", [FRIEND, 1n]), Uint8Array.of(0)]) }, "CALLDATA"],
    ["with a word behind", { data: concat([call("transfer", [FRIEND, 1n]), new Uint8Array(32)]) }, "CALLDATA"],
    ["cut short", { data: call("transfer", [FRIEND, 1n]).subarray(0, 67) }, "CALLDATA"],
    ["without arguments", { data: call("transfer", [FRIEND, 1n]).subarray(0, 4) }, "CALLDATA"],
    ["with three bytes of selector", { data: Uint8Array.of(0xa9, 0x05, 0x9c) }, "CALLDATA"],
    ["without data, to the token", {}, "DESTINATION"],
    ["with dirty bytes before the address", { data: dirty(call("transfer", [FRIEND, 1n]), 4) }, "CALLDATA"],
    ["with one dirty bit before the address", { data: dirty(call("transfer", [FRIEND, 1n]), 15) }, "CALLDATA"],
  ])("%s is judged", (_, fields, result) => {
    expect(judged(transaction(fields))).toBe(result);
  });

  it("with gas above the bound is refused, and at the bound is counted", () => {
    const data = call("transfer", [FRIEND, 1n]);
    expect(judged(transaction({ data, gasPrice: 10n, gasLimit: 100n }))).toBe("ok");
    expect(judged(transaction({ data, gasPrice: 1001n, gasLimit: 1n }))).toBe("GAS");
    expect(judged(transaction({ data, gasPrice: 1n << 255n, gasLimit: (1n << 64n) - 1n }))).toBe("GAS");
  });
});

function dirty(data: Uint8Array, index: number): Uint8Array {
  const copy = data.slice();
  copy[index] = 1;
  return copy;
}

describe("native money", () => {
  const native = `chain:${CHAIN}/native`;

  it.each([
    ["to a listed address", { to: FRIEND, value: 50n }, { [native]: 50n }],
    ["above one intent's bound", { to: FRIEND, value: 51n }, "AMOUNT_EACH"],
    ["to a stranger", { to: STRANGER, value: 1n }, "DESTINATION"],
    ["to a stranger, none of it", { to: STRANGER, value: 0n }, "DESTINATION"],
    ["to the wallet, which is not listed", { to: WALLET, value: 1n }, "DESTINATION"],
    ["with data, to a listed address", { to: FRIEND, value: 1n, data: call("transfer", [FRIEND, 1n]) }, "CONTRACT"],
    ["with a payable method", { to: VAULT, value: 50n, data: call("depositNative", [1000n]) }, { [native]: 50n }],
    ["with a payable method, too much", { to: VAULT, value: 51n, data: call("depositNative", [1000n]) }, "AMOUNT_EACH"],
    ["with a method that takes none", { to: VAULT, value: 1n, data: call("deposit", [TOKEN, 1n, 0n]) }, "VALUE"],
  ])("%s is judged", (_, fields, result) => {
    expect(spent(transaction(fields))).toEqual(result);
  });

  it("goes nowhere on a chain without a rule for it", () => {
    expect(judged(transaction({ chainId: 1n, to: FRIEND, value: 1n }))).toBe("DESTINATION");
    const policy = policyOf({ ...RULES, native: [] });
    expect(judged(transaction({ to: VAULT, value: 1n, data: call("depositNative", [1n]) }), policy)).toBe("VALUE");
  });
});

describe("a contract's method", () => {
  it.each([
    ["counts the amount of the named argument", { data: call("deposit", [TOKEN, 100n, 7n]) }, { [TOKEN_ASSET]: 100n }],
    ["holds the amount to the bound", { data: call("deposit", [TOKEN, 101n, 7n]) }, "AMOUNT_EACH"],
    ["holds a fixed argument", { data: call("deposit", [OTHER_TOKEN, 1n, 7n]) }, "METHOD"],
    ["takes a destination that is listed", { data: call("withdrawTo", [WALLET, FRIEND]) }, {}],
    ["takes no other destination", { data: call("withdrawTo", [WALLET, STRANGER]) }, "DESTINATION"],
    ["takes no other account for the wallet", { data: call("withdrawTo", [FRIEND, FRIEND]) }, "ACCOUNT"],
    [
      "takes nothing behind its arguments",
      { data: concat([call("deposit", [TOKEN, 1n, 0n]), Uint8Array.of(1)]) },
      "CALLDATA",
    ],
    ["is no other method", { data: call("transfer", [FRIEND, 1n]) }, "METHOD"],
  ])("%s", (_, fields, result) => {
    expect(spent(transaction({ to: VAULT, ...fields }))).toEqual(result);
  });

  it("may be listed twice with other fixed arguments", () => {
    const [contract] = RULES.contracts;
    const deposit = (token: string, perDay: string) => ({
      signature: "deposit(address,uint256,uint256)",
      fixed: [{ argument: 0, value: token }],
      amount: { argument: 1, token, perDay },
      free: [2],
    });
    const policy = policyOf({
      ...RULES,
      contracts: [{ ...contract, methods: [deposit(TOKEN, "5"), deposit(OTHER_TOKEN, "9")] }],
    });
    expect(judged(transaction({ to: VAULT, data: call("deposit", [TOKEN, 6n, 0n]) }), policy)).not.toBe("ok");
    expect(spent(transaction({ to: VAULT, data: call("deposit", [OTHER_TOKEN, 6n, 0n]) }), policy)).toEqual({
      [`chain:${CHAIN}/token:${OTHER_TOKEN}`]: 6n,
    });
  });
});

describe("an origin", () => {
  it("has nothing of what the other may do", () => {
    const policy = policyOf(RULES);
    const data = call("transfer", [FRIEND, 1n]);
    expect(judged(transaction({ data }, "service"), policy)).toBe("ok");
    expect(judged(transaction({ data }, "caller"), policy)).toBe("CHAIN");
    expect(judged(transaction({ data }, "caller"), FULL)).toBe("ok");
  });
});

describe("calldata", () => {
  it("is decoded as viem encodes it, for random static arguments", () => {
    const signature = readSignature("f(address,uint64,int16,bool,bytes5)");
    if (signature === null) throw new Error("not read");
    const abi = parseAbi(["function f(address a, uint64 b, int16 c, bool d, bytes5 e)"]);
    const argument = fc.tuple(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
      fc.integer({ min: -32_768, max: 32_767 }),
      fc.boolean(),
      fc.uint8Array({ minLength: 5, maxLength: 5 }),
    );
    const hex = (part: Uint8Array): `0x${string}` => `0x${Buffer.from(part).toString("hex")}`;
    fc.assert(
      fc.property(argument, ([a, b, c, d, e]) => {
        const data = bytes(encodeFunctionData({ abi, args: [hex(a), b, c, d, hex(e)] }));
        expect(decodeCall(signature, data)).toEqual([hex(a), b, BigInt(c), d ? 1n : 0n, hex(e)]);
        // A bit anywhere in the padding is no argument.
        for (const index of [4, 36, 68, 100, 132 + 5]) expect(decodeCall(signature, dirty(data, index))).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it("has the selectors that viem gives", () => {
    for (const text of ["transfer(address,uint256)", "deposit(address,uint256,uint256)", "f()"])
      expect(readSignature(text)?.selector).toBe(toFunctionSelector(text));
  });

  it.each([
    "transfer(address, uint256)",
    "transfer(address to,uint256)",
    "transfer(address,uint)",
    "execute(address,uint256,bytes)",
    "multicall(bytes[])",
    "f((address,uint256))",
    "f(string)",
    "f(address,)",
    "f(",
    "(address)",
    "function f(address)",
    `f(${"bool,".repeat(16)}bool)`,
  ])("of the signature %s is not declared", (text) => {
    expect(readSignature(text)).toBeNull();
  });
});
