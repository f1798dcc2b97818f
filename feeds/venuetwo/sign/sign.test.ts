import { createHmac } from "node:crypto";
import fc from "fast-check";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { fromHex, recoverAddress, toHex } from "../../shared/sign/eip712.js";
import { encodeForm, MESSAGE_CHAIN_ID, MessageSigner, privateKeyBytes, signHmac } from "./sign.js";
import { signWithdraw, WITHDRAW_CHAINS } from "./sign-wallet.js";

/** The agent key printed in the venue's V3 demo. */
const KEY = "0x4fd0a42218f3eae43a6ce26d22544e986139a01e5b34a62db53757ffca81bae1";
const account = privateKeyToAccount(KEY);
const ZERO = "0x0000000000000000000000000000000000000000";

describe("parameter text", () => {
  it("percent-encodes so that decoding gives the same parameters, and leaves no byte that means something", () => {
    const value = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value), { maxLength: 6 }), (params) => {
        const text = encodeForm(params);
        expect(text).toMatch(/^[A-Za-z0-9\-._~%&=]*$/);
        const decoded = text === "" ? [] : text.split("&").map((part) => part.split("=").map(decodeURIComponent));
        expect(decoded).toEqual(params.map((pair) => [...pair]));
      }),
      { seed: 71 },
    );
  });

  it("encodes as the venue's examples do", () => {
    expect(
      encodeForm([
        ["orderIdList", "[1,2]"],
        ["origClientOrderId", "my-order.1:a/b"],
        ["x", "a b!'()*"],
      ]),
    ).toBe("orderIdList=%5B1%2C2%5D&origClientOrderId=my-order.1%3Aa%2Fb&x=a%20b%21%27%28%29%2A");
  });
});

describe("V1 signatures", () => {
  it("cover query and body joined, as sent", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.uint8Array({ minLength: 1, maxLength: 80 }), (query, body, secret) => {
        expect(signHmac(secret, query, body)).toBe(
          createHmac("sha256", secret)
            .update(query + body)
            .digest("hex"),
        );
      }),
      { seed: 72 },
    );
  });
});

describe("V3 signatures", () => {
  it.each([MESSAGE_CHAIN_ID.mainnet, MESSAGE_CHAIN_ID.testnet])(
    "equal viem's typed data in the domain %i and recover",
    async (chainId) => {
      const signer = new MessageSigner(chainId);
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 200 }), async (msg) => {
          const signature = signer.sign(msg, fromHex(KEY));
          const reference = await account.signTypedData({
            domain: { name: "AsterSignTransaction", version: "1", chainId, verifyingContract: ZERO },
            types: { Message: [{ name: "msg", type: "string" }] },
            primaryType: "Message",
            message: { msg },
          });
          expect(signature).toBe(reference);
          const bytes = fromHex(signature);
          expect(recoverAddress(signer.digest(msg), bytes.subarray(0, 64), bytes[64] ?? 0)).toBe(
            account.address.toLowerCase(),
          );
        }),
        { numRuns: 25, seed: 73 },
      );
    },
  );

  it.each(["", "0x", `0x${"g".repeat(64)}`, "1".repeat(63), `0X${"1".repeat(64)}`])(
    "does not take %j for a key",
    (text) => {
      expect(privateKeyBytes(text)).toBeNull();
    },
  );
});

describe("withdrawals", () => {
  it.each(Object.keys(WITHDRAW_CHAINS).map(Number))(
    "on chain %i are signed as viem does, blanks in names included",
    async (chainId) => {
      const action = {
        chainId,
        asset: "USDT",
        amount: "10.123400",
        fee: "0.5",
        receiver: account.address,
        nonce: "1763600000000003",
      };
      const signed = signWithdraw(action, fromHex(KEY));
      const reference = await account.signTypedData({
        domain: { name: "Aster", version: "1", chainId, verifyingContract: ZERO },
        types: {
          Action: [
            { name: "type", type: "string" },
            { name: "destination", type: "address" },
            { name: "destination Chain", type: "string" },
            { name: "token", type: "string" },
            { name: "amount", type: "string" },
            { name: "fee", type: "string" },
            { name: "nonce", type: "uint256" },
            { name: "aster chain", type: "string" },
          ],
        },
        primaryType: "Action",
        message: {
          type: "Withdraw",
          destination: account.address,
          "destination Chain": WITHDRAW_CHAINS[chainId] ?? "",
          token: "USDT",
          amount: "10.123400",
          fee: "0.5",
          nonce: 1_763_600_000_000_003n,
          "aster chain": "Mainnet",
        },
      });
      expect(signed.signature).toBe(reference);
      expect(toHex(signed.digest)).toHaveLength(66);
    },
  );

  it("refuse a chain that takes none", () => {
    const action = { chainId: 5, asset: "USDT", amount: "1", fee: "0", receiver: account.address, nonce: "1" };
    expect(() => signWithdraw(action, fromHex(KEY))).toThrow(RangeError);
  });
});
