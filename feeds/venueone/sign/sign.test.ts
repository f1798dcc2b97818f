import fc from "fast-check";
import { hashTypedData, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { fromHex, toHex } from "../../shared/sign/eip712.js";
import { packMsgpack, type MsgpackValue } from "./msgpack.js";
import { L1Signer, limitOrderAction, signatureBytes, type WireLimitOrder } from "./sign.js";
import { signUserAction } from "./sign-user.js";
import { USER_ACTION_TYPES, userActionDomain } from "./typed-data.js";

/** Published test key, of no value. */
const KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const account = privateKeyToAccount(KEY);

const hex = (bytes: number): fc.Arbitrary<string> => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex);
const orders: fc.Arbitrary<WireLimitOrder> = fc.record({
  asset: fc.integer({ min: 0, max: 200_000_000 }),
  isBuy: fc.boolean(),
  price: fc.integer({ min: 1, max: 99_999 }).map(String),
  size: fc.integer({ min: 1, max: 99_999_999 }).map(String),
  reduceOnly: fc.boolean(),
  tif: fc.constantFrom("Gtc", "Ioc", "Alo"),
  cloid: hex(16),
});
const contexts = fc.record({
  nonce: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  vault: fc.option(hex(20), { nil: null }),
  expiresAfter: fc.option(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { nil: null }),
});

/** The hash by viem's keccak over bytes put together another way. */
function referenceHash(action: MsgpackValue, nonce: number, vault: string | null, expiresAfter: number | null): string {
  const u64 = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
  };
  const parts = [
    Buffer.from(packMsgpack(action)),
    u64(nonce),
    vault === null ? Buffer.from([0]) : Buffer.concat([Buffer.from([1]), Buffer.from(vault.slice(2), "hex")]),
    expiresAfter === null ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0]), u64(expiresAfter)]),
  ];
  return keccak256(Buffer.concat(parts));
}

describe("signatures of trading actions", () => {
  it("hashes an order as viem's keccak does over bytes put together another way", () => {
    const signer = new L1Signer(true);
    fc.assert(
      fc.property(orders, contexts, (order, { nonce, vault, expiresAfter }) => {
        const action = limitOrderAction(order);
        expect(toHex(signer.hashAction(action, nonce, vault, expiresAfter))).toBe(
          referenceHash(action, nonce, vault, expiresAfter),
        );
      }),
      { numRuns: 200, seed: 51 },
    );
  });

  it.each([true, false])("signs as viem's typed data does (mainnet %s), and the signer recovers", async (isMainnet) => {
    const signer = new L1Signer(isMainnet);
    await fc.assert(
      fc.asyncProperty(orders, contexts, async (order, { nonce, vault, expiresAfter }) => {
        const connectionId = signer.hashAction(limitOrderAction(order), nonce, vault, expiresAfter).slice();
        const typed = {
          domain: { name: "Exchange", version: "1", chainId: 1337, verifyingContract: `0x${"0".repeat(40)}` },
          types: {
            Agent: [
              { name: "source", type: "string" },
              { name: "connectionId", type: "bytes32" },
            ],
          },
          primaryType: "Agent",
          message: { source: isMainnet ? "a" : "b", connectionId: toHex(connectionId) },
        } as const;
        expect(toHex(signer.agentDigest(connectionId))).toBe(
          hashTypedData(typed as Parameters<typeof hashTypedData>[0]),
        );
        const signature = signer.signConnectionId(connectionId, fromHex(KEY));
        const reference = await account.signTypedData(typed as Parameters<typeof account.signTypedData>[0]);
        expect(toHex(signatureBytes(signature)) + signature.v.toString(16)).toBe(reference);
        expect(signer.recover(connectionId, signature)).toBe(account.address.toLowerCase());
      }),
      { numRuns: 25, seed: 52 },
    );
  });

  it("separates networks, vaults, expiries and nonces: each changes the hash", () => {
    const signer = new L1Signer(true);
    const order: WireLimitOrder = {
      asset: 0,
      isBuy: false,
      price: "84000",
      size: "0.1",
      reduceOnly: true,
      tif: "Ioc",
      cloid: `0x${"ab".repeat(16)}`,
    };
    const vault = `0x${"11".repeat(20)}`;
    // The hash lives in the signer's own buffer: each is written down before the next.
    const hash = (
      changes: Partial<WireLimitOrder>,
      nonce: number,
      vaultAddress: string | null,
      expiry: number | null,
    ): string => toHex(signer.hashAction(limitOrderAction({ ...order, ...changes }), nonce, vaultAddress, expiry));
    const first = hash({}, 1, null, null);
    const hashes = [
      first,
      hash({}, 2, null, null),
      hash({}, 1, vault, null),
      hash({}, 1, null, 5),
      hash({}, 1, vault, 5),
      hash({ reduceOnly: false }, 1, null, null),
      hash({ isBuy: true }, 1, null, null),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    const connectionId = fromHex(first);
    expect(toHex(new L1Signer(false).agentDigest(connectionId))).not.toBe(toHex(signer.agentDigest(connectionId)));
  });
});

describe("user-signed actions", () => {
  it("signs a withdrawal as viem does, colon in the type name included", async () => {
    const action = {
      type: "withdraw3",
      signatureChainId: "0xa4b1",
      hyperliquidChain: "Mainnet",
      destination: "0x5e9ee1089755c3435139848e47e6635505d5a13a",
      amount: "25.5",
      time: 1_763_682_000_023,
    };
    const { primaryType, fields } = USER_ACTION_TYPES.withdraw3;
    const reference = await account.signTypedData({
      domain: userActionDomain("0xa4b1"),
      types: { [primaryType]: fields },
      primaryType,
      message: { ...action, time: BigInt(action.time) },
    } as unknown as Parameters<typeof account.signTypedData>[0]);
    const signature = signUserAction(action, fromHex(KEY));
    expect(toHex(signatureBytes(signature)) + signature.v.toString(16)).toBe(reference);
  });

  it("refuses an action that has no type at the venue", () => {
    expect(() => signUserAction({ type: "order", signatureChainId: "0x1" }, fromHex(KEY))).toThrow(TypeError);
    expect(() => signUserAction({ type: "toString", signatureChainId: "0x1" }, fromHex(KEY))).toThrow(TypeError);
  });
});
