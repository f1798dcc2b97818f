import { describe, expect, it } from "vitest";
import { payersOf } from "../http/caller-tags.js";
import { callerOfAsk } from "./ask-caller.js";

const KEY = `0x${"ab".repeat(32)}`;
const BLOCKS = { venueone: { privateKey: KEY } };
const TEXT = Buffer.from(JSON.stringify(BLOCKS)).toString("base64url");
const WALLET_ID = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";

const ask = (more: object) => ({ headers: {}, query: {}, params: {}, body: undefined, ...more });

describe("the caller of a request", () => {
  it.each([
    ["the header", ask({ headers: { "x-venue-credentials": TEXT } })],
    ["the query", ask({ query: { credentials: TEXT } })],
    ["a body's field", ask({ body: { credentials: BLOCKS } })],
    ["a body that is the blocks", ask({ body: BLOCKS })],
    ["another spelling", ask({ body: { venueone: { privateKey: KEY.toUpperCase().replace("0X", "0x") } } })],
  ])("is the account of its key, by %s", (_name, request) => {
    expect(callerOfAsk(request)).toBe(payersOf(BLOCKS));
    expect(callerOfAsk(request)).not.toContain("abab");
  });

  it("is each of the accounts that the request names", () => {
    const venuetwo = { apiKey: "a", apiSecret: "b", walletAddress: `0x${"cd".repeat(20)}` };
    expect(callerOfAsk(ask({ body: { ...BLOCKS, venuetwo } }))).toEqual([payersOf(BLOCKS), payersOf({ venuetwo })]);
  });

  it("is decided by the secret, not by a wallet address that everyone knows", () => {
    const walletAddress = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
    const tags = ["one", "two"].map((apiSecret) => payersOf({ venuetwo: { apiKey: "key", apiSecret, walletAddress } }));
    expect(new Set(tags).size).toBe(2);
  });

  it("is the key of venuethree, in the query, in headers or in a block", () => {
    const apiKeyPrivateKey = "cd".repeat(40);
    const tags = [
      ask({ query: { apiKeyPrivateKey, accountIndex: "516" } }),
      ask({
        headers: { "x-venuethree-api-key-private-key": `0x${apiKeyPrivateKey}`, "x-venuethree-account-index": "516" },
      }),
      ask({ body: { venuethree: { apiKeyPrivateKey, accountIndex: 516 } } }),
    ].map(callerOfAsk);
    expect(new Set(tags)).toEqual(new Set([payersOf({ venuethree: { apiKeyPrivateKey, accountIndex: 516 } })]));
  });

  it("is the wallet with the given id, in the header or in the path", () => {
    const tags = [
      ask({ headers: { "x-wallet-id": WALLET_ID } }),
      ask({ params: { walletId: WALLET_ID.toUpperCase() } }),
    ];
    const [first, second] = tags.map(callerOfAsk);
    expect([typeof first, second]).toEqual(["string", first]);
    expect(first).not.toContain(WALLET_ID);
  });

  it("is unknown without credentials, and with ones that the route will refuse", () => {
    const requests = [
      ask({}),
      ask({ headers: { "x-venue-credentials": "{" } }),
      ask({ body: [] }),
      ask({ body: "text" }),
    ];
    expect(requests.map(callerOfAsk)).toEqual([null, null, null, null]);
  });
});
