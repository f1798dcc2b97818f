/** What a wallet signs to withdraw is what is sent, what the venue hashes, and what the co-signer's policy reads. */
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import type { WithdrawalAsk } from "../../../engine/venue-money.js";
import { toHex } from "../../shared/sign/eip712.js";
import { custodyActs } from "../sign/custody-acts.js";
import { draftOf, feeToOffer, paramsOf, readRequest, textToSign, type WithdrawRequest } from "./withdraw-act.js";

const RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const USDT = { chainId: 56, symbol: "USDT", address: `0x${"5".repeat(40)}`, decimals: 18, resetsAllowance: false };
const ONE = 10n ** 18n;
const ASK: WithdrawalAsk = {
  account: RECEIVER,
  receiver: RECEIVER,
  token: USDT,
  amount: 31n * ONE,
  accountType: "perp",
};

function read(request: WithdrawRequest) {
  const typed = readTypedData(new TextEncoder().encode(textToSign(request).text));
  if (!typed.ok) throw new Error(typed.problem);
  return { digest: toHex(typedDataDigest(typed.typed)), reading: custodyActs.readTypedData(typed.typed) };
}

function request(ask: WithdrawalAsk, fee: bigint, nonce: string): WithdrawRequest {
  const draft = draftOf(ask, fee);
  if (!draft.ok) throw new Error(draft.problem);
  return { ...draft.request, nonce };
}

describe("a withdrawal as the wallet signs it", () => {
  /** The first digest is published in a public test of the venue's rule, the others derived by two independent libraries. */
  it.each<
    [digest: string, account: string, chainId: number, symbol: string, amount: bigint, fee: bigint, nonce: string]
  >([
    [
      "0x501b5af5abb27610fc1551c5f215f7706d57b56bfa0bdd36f0cc74d045d816ec",
      "0x851d000000000000000000000000000000000a73",
      ...([42161, "USDT", 1_230_000n, 510_000n, "1786143846408000"] as const),
    ],
    [
      "0x29dd8a02a7ea21a195070c06c7412f0d945bbc4dd5c61e1d0522bfb1def69849",
      RECEIVER,
      ...([56, "USDT", 31n * ONE, (3n * ONE) / 10n, "1761210000000000"] as const),
    ],
    [
      "0x9557668aa43837d27e98b4cefe81f52b145c479f4dfe17adc47140e8aa8d6072",
      "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
      ...([42161, "USDC", 25_500_000n, 500_000n, "1763600000000001"] as const),
    ],
  ])("has the digest that others made: %s", (digest, account, chainId, symbol, amount, fee, nonce) => {
    const token = { ...USDT, chainId, symbol, decimals: chainId === 56 ? 18 : 6 };
    const signed = read(request({ ...ASK, account, receiver: account, token, amount }, fee, nonce));
    expect(signed.digest).toBe(digest);
  });

  it("reads to the policy as a withdrawal of amount and fee to the wallet", () => {
    const { reading } = read(request(ASK, ONE / 10n, "1761210000000000"));
    const spent = { token: "USDT", amount: (311n * ONE) / 10n };
    expect(reading).toEqual({ kind: "act", act: { act: "withdraw", account: null, destination: RECEIVER, spent } });
  });

  it("is sent with the texts that were signed; the wallet's nonce has another name beside an agent's", () => {
    const ours = request({ ...ASK, amount: 12_500_000n * 10n ** 12n }, 17n * 10n ** 13n, "1761210000000001");
    const sent = (kind: "v1" | "v3") =>
      Object.fromEntries(
        paramsOf(ours, "0xsig", kind === "v1" ? { kind, apiKey: "key" } : { kind, user: "u", signer: "s" }),
      );
    const common = {
      ...{ chainId: "56", asset: "USDT", amount: "12.5", fee: "0.00017", receiver: RECEIVER },
      userSignature: "0xsig",
    };
    expect(sent("v3")).toEqual({ ...common, userNonce: "1761210000000001" });
    expect(sent("v1")).toEqual({ ...common, nonce: "1761210000000001" });
  });

  it("is read again as it was stored, and nothing else is", () => {
    const stored = request(ASK, 1n * ONE, "1");
    expect(readRequest(JSON.stringify(stored))).toEqual(stored);
    for (const other of ["", "[]", "{}", JSON.stringify({ ...stored, accountType: "margin" })])
      expect(readRequest(other)).toBeNull();
    expect(readRequest(JSON.stringify({ ...stored, nonce: 1 }))).toBeNull();
  });
});

describe("a withdrawal that is not made", () => {
  it.each<[what: string, changes: Partial<WithdrawalAsk>, problem: string]>([
    ["to another address than the wallet's", { receiver: `0x${"9".repeat(40)}` }, "RECEIVER"],
    ["without an account", { accountType: null }, "ACCOUNT_TYPE"],
    ["on a chain without payouts", { token: { ...USDT, chainId: 10 } }, "CHAIN"],
    ["of nothing", { amount: 0n }, "AMOUNT"],
    ["of less than nothing", { amount: -1n }, "AMOUNT"],
    ["finer than the venue's balances", { amount: ONE + 10n ** 9n }, "AMOUNT"],
    ["of more digits than a text has", { amount: 10n ** 83n }, "AMOUNT"],
  ])("%s", (_, changes, problem) => {
    expect(draftOf({ ...ASK, ...changes }, ONE)).toEqual({ ok: false, problem });
  });

  it("with a fee that cannot be written, while none at all can", () => {
    expect(draftOf(ASK, -1n)).toEqual({ ok: false, problem: "FEE" });
    expect(draftOf(ASK, 1n)).toEqual({ ok: false, problem: "FEE" });
    expect(draftOf(ASK, 0n)).toMatchObject({ ok: true, request: { fee: "0" } });
  });

  it("in other letters of the same address is made", () => {
    const receiver = RECEIVER.toUpperCase().replace("0X", "0x");
    expect(draftOf({ ...ASK, receiver }, ONE)).toMatchObject({ ok: true, request: { account: RECEIVER } });
  });
});

describe("a fee to offer", () => {
  it.each([
    ["one and a half times the estimate", 170_000_000_000_000n, 18, 255_000_000_000_000n],
    ["rounded up to a unit", 3n, 6, 5n],
    ["rounded up to the places that are sent", 1n, 18, 10_000_000_000n],
    ["nothing for nothing", 0n, 18, 0n],
  ])("is %s", (_, gasCost, decimals, fee) => {
    expect(feeToOffer(gasCost, decimals)).toBe(fee);
  });
});
