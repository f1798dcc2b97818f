/** What a wallet signs for an agent is what the venue hashes, by captures and by digests that other libraries made. */
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { toHex } from "../../shared/sign/eip712.js";
import { custodyActs } from "../sign/custody-acts.js";
import { userActionDigest } from "../sign/sign-user.js";
import {
  type AgentRequest,
  approvalOf,
  type ApproveAgent,
  bodyOf,
  readRequest,
  revocationOf,
  textToSign,
  writeRequest,
} from "./agent-act.js";

const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const AGENT = "0x1719884eb866cb12b2287399b15f7db5e7d775ea";
const ZERO = `0x${"0".repeat(40)}`;
const END_MS = 1_790_000_000_000;
const SIGNATURE = `0x${"01".repeat(32)}${"02".repeat(32)}1c`;

const key = (name: string, expiresAtMs: number | null = END_MS) => ({
  account: ACCOUNT,
  signer: AGENT,
  name,
  expiresAtMs,
});

/** `by`: whose digest it is. */
const VECTORS: readonly (readonly [by: string, action: Omit<ApproveAgent, "type">, digest: string])[] = [
  [
    "a revocation on the test network, captured with the venue's ok (signing study, 2026-09-07)",
    {
      signatureChainId: "0x1",
      hyperliquidChain: "Testnet",
      agentAddress: ZERO,
      agentName: "shield-probe",
      nonce: 1_788_779_903_054,
    },
    "0xe09333603c2b1804eeb56fea75950e9f533afb253cafda6f86d31525d1986f2d",
  ],
  [
    "an approval, by @nktkas/hyperliquid 0.32.2 and by ethers 6",
    {
      signatureChainId: "0xa4b1",
      hyperliquidChain: "Mainnet",
      agentAddress: AGENT,
      agentName: "aggregator",
      nonce: 1_763_682_000_020,
    },
    "0xa7f8b003e604cc3952697ee439b58978b48c8bb4e1efe43474af2d233971f9af",
  ],
  [
    "an approval, by the tests of bloxwap/hyperliquid and by ethers 6",
    {
      signatureChainId: "0x66eee",
      hyperliquidChain: "Mainnet",
      agentAddress: "0x1234567890123456789012345678901234567890",
      agentName: "Agent",
      nonce: 1_700_000_000_000,
    },
    "0x3df7ffbed96976200c31604dd7626e6a6da2733a6dad32681027e908d7294117",
  ],
];

/** As the wallet's signer reads it. */
function signed(request: AgentRequest) {
  const { kind, text } = textToSign(request);
  const read = readTypedData(new TextEncoder().encode(text));
  if (!read.ok) throw new Error(read.problem);
  return { kind, digest: toHex(typedDataDigest(read.typed)), reading: custodyActs.readTypedData(read.typed) };
}

describe("the typed data of an agent", () => {
  it.each(VECTORS)("has the digest of %s", (_by, action, digest) => {
    expect(signed({ account: ACCOUNT, action: { type: "approveAgent", ...action } })).toMatchObject({
      kind: "typedData",
      digest,
    });
  });

  it.each([true, false])(
    "has the digest of the action that is sent, and is an act of the policy; main network: %s",
    (isMainnet) => {
      for (const request of [approvalOf(key("unwind-1"), isMainnet, 1), revocationOf(key("unwind-1"), isMainnet, 2)]) {
        const { digest, reading } = signed(request);
        expect(digest).toBe(toHex(userActionDigest({ ...request.action })));
        expect(reading).toMatchObject({ kind: "act", act: { act: "approveAgent" } });
      }
    },
  );

  it("is that of the vector, from a key without an end", () => {
    const { digest } = signed(approvalOf(key("aggregator", null), true, 1_763_682_000_020));
    expect(digest).toBe(VECTORS[1]?.[2]);
  });
});

describe("the action of an agent", () => {
  it("names the end behind the name, and the zero address under the name alone for a revocation", () => {
    expect(approvalOf(key("unwind-2"), true, 5).action).toEqual({
      type: "approveAgent",
      signatureChainId: "0xa4b1",
      hyperliquidChain: "Mainnet",
      agentAddress: AGENT,
      agentName: `unwind-2 valid_until ${END_MS}`,
      nonce: 5,
    });
    expect(revocationOf(key("unwind-2"), false, 6).action).toMatchObject({
      hyperliquidChain: "Testnet",
      agentAddress: ZERO,
      agentName: "unwind-2",
      nonce: 6,
    });
  });

  it("is sent with the signature's parts, and neither a vault nor an expiry", () => {
    const request = approvalOf(key("unwind-1"), true, 7);
    expect(JSON.parse(bodyOf(request, SIGNATURE))).toEqual({
      action: request.action,
      nonce: 7,
      signature: { r: `0x${"01".repeat(32)}`, s: `0x${"02".repeat(32)}`, v: 28 },
    });
  });

  it("is read again as it was written, and nothing else is", () => {
    const request = approvalOf(key("unwind-1"), true, 1_790_000_000_001);
    expect(readRequest(writeRequest(request))).toEqual(request);
    const { action } = request;
    for (const other of [
      "",
      "[]",
      "{}",
      JSON.stringify({ account: ACCOUNT }),
      JSON.stringify({ account: ACCOUNT, action: { ...action, type: "usdSend" } }),
      JSON.stringify({ account: ACCOUNT, action: { ...action, hyperliquidChain: "Other" } }),
      JSON.stringify({ account: ACCOUNT, action: { ...action, nonce: "1" } }),
      JSON.stringify({ account: ACCOUNT, action: { ...action, agentAddress: "0x1" } }),
    ])
      expect(readRequest(other)).toBeNull();
  });
});
