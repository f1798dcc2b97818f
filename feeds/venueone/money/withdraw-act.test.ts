/** What a wallet signs to withdraw is what is sent, what the venue hashes, and what the co-signer's policy reads. */
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import type { WithdrawalAsk } from "../../../engine/venue-money.js";
import { fromHex, recoverAddress, toHex } from "../../shared/sign/eip712.js";
import { custodyActs } from "../sign/custody-acts.js";
import { signedBody, signedText } from "./user-act.js";
import { draftOf, readRequest, requestOf, type WithdrawRequest } from "./withdraw-act.js";

const ACCOUNT = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const DESTINATION = "0x5e9ee1089755c3435139848e47e6635505d5a13a";
const TOKEN = { chainId: 42161, symbol: "USDC", address: `0x${"5".repeat(40)}`, decimals: 6, resetsAllowance: false };
const ASK: WithdrawalAsk = {
  account: ACCOUNT,
  receiver: DESTINATION,
  token: TOKEN,
  amount: 25_500_000n,
  accountType: null,
};
/** Of two independent libraries (25.5 USDC, main network), and of the venue's own SDK (1 USDC, test network). */
const MAIN = {
  time: 1_763_682_000_023,
  digest: "0xa3d89038da4721bbeb5e07c2eff36ec864c208d7fd9cfe2a16ecaa56ec738dc3",
  r: "0x22a8660788354c921dba23088e7fdf0587aa1026784efdbfb0802b488ee00a71",
  s: "0x39cedf84869c32754dfb1cc45968f62b440534a8c1eb2eca78c1427f98602a2a",
};
const TEST_DIGEST = "0x8080d06f566813165cec60d85300445133b3439e9c92e10b93ed510372608899";

function request(ask: WithdrawalAsk, isMainnet: boolean, time: number): WithdrawRequest {
  const draft = draftOf(ask);
  if (!draft.ok) throw new Error(draft.problem);
  return requestOf(ACCOUNT, draft, isMainnet, time);
}

function read({ action }: WithdrawRequest) {
  const typed = readTypedData(new TextEncoder().encode(signedText(action).text));
  if (!typed.ok) throw new Error(typed.problem);
  return { digest: typedDataDigest(typed.typed), reading: custodyActs.readTypedData(typed.typed) };
}

describe("a withdrawal as the wallet signs it", () => {
  it("has the digests that others made, of both networks", () => {
    const { digest } = read(request(ASK, true, MAIN.time));
    expect(toHex(digest)).toBe(MAIN.digest);
    expect(recoverAddress(digest, fromHex(MAIN.r + MAIN.s.slice(2)), 27)).toBe(ACCOUNT);
    const ofTestNetwork = read(request({ ...ASK, amount: 1_000_000n }, false, 1_687_816_341_423));
    expect(toHex(ofTestNetwork.digest)).toBe(TEST_DIGEST);
  });

  it("reads to the policy as money to the destination", () => {
    const spent = { token: "USDC", amount: (255n * 10n ** 18n) / 10n };
    expect(read(request(ASK, true, 1)).reading).toEqual({
      kind: "act",
      act: { act: "withdraw", account: null, destination: DESTINATION, spent },
    });
  });

  it("is sent as it was signed, with its time as the nonce, the destination in lower case", () => {
    const receiver = DESTINATION.toUpperCase().replace("0X", "0x");
    const { action } = request({ ...ASK, receiver }, true, MAIN.time);
    expect(JSON.parse(signedBody(action, action.time, `${MAIN.r}${MAIN.s.slice(2)}1b`))).toEqual({
      action: {
        ...{ type: "withdraw3", signatureChainId: "0xa4b1", hyperliquidChain: "Mainnet" },
        ...{ destination: DESTINATION, amount: "25.5", time: MAIN.time },
      },
      nonce: MAIN.time,
      signature: { r: MAIN.r, s: MAIN.s, v: 27 },
    });
  });

  it("is read again as it was stored, and nothing else is", () => {
    const stored = request(ASK, true, MAIN.time);
    expect(readRequest(JSON.stringify(stored))).toEqual(stored);
    const { action } = stored;
    for (const other of [{}, { ...stored, action: { ...action, type: "usdSend" } }, { ...stored, account: 1 }])
      expect(readRequest(JSON.stringify(other))).toBeNull();
  });

  it.each<[what: string, changes: Partial<WithdrawalAsk>, problem: string]>([
    ["of nothing", { amount: 0n }, "AMOUNT"],
    ["of more than the bridge counts", { amount: 1n << 64n }, "AMOUNT"],
    ["finer than the venue's six places", { token: { ...TOKEN, decimals: 8 }, amount: 100_000_001n }, "AMOUNT"],
    ["to what is no address", { receiver: "0x12" }, "RECEIVER"],
  ])("is not made %s", (_, changes, problem) => {
    expect(draftOf({ ...ASK, ...changes })).toEqual({ ok: false, problem });
  });

  it("is made of the most that the bridge counts", () => {
    expect(draftOf({ ...ASK, amount: (1n << 64n) - 1n })).toMatchObject({ ok: true, amount: "18446744073709.551615" });
  });
});
