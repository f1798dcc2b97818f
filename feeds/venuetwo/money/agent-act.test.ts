/** What a wallet signs for an agent is what is sent, and what the venue hashes. */
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { toHex } from "../../shared/sign/eip712.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import { custodyActs } from "../sign/custody-acts.js";
import { messageDomain } from "../sign/sign.js";
import {
  managementFields,
  managementMessage,
  MESSAGE_FIELDS,
  signManagement,
  signWalletMessage,
} from "../sign/sign-wallet.js";
import { type AgentAct, approval, callOf, readRequest, registration, removal } from "./agent-act.js";

const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const AGENT = "0x21cf8ae13bb72632562c6fff438652ba1a151bb0";
const END_MS = 1_967_945_395_040;
const NONCE = 1_763_600_000_000_015;
const KEY = { account: ACCOUNT, signer: AGENT, name: "unwind-1", expiresAtMs: END_MS };
const TRADES = { isMainnet: true, ipWhitelist: [] };
const WITHDRAWS = { isMainnet: true, ipWhitelist: ["192.0.2.10", "198.51.100.0/24"] };
/** Only to compare digests: nothing is verified with it. */
const ANY_KEY = new Uint8Array(32).fill(1);

function read(text: string) {
  const typed = readTypedData(new TextEncoder().encode(text));
  if (!typed.ok) throw new Error(typed.problem);
  return { digest: toHex(typedDataDigest(typed.typed)), reading: custodyActs.readTypedData(typed.typed) };
}

function sent({ request }: AgentAct): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(request.form));
}

describe("the typed data of agents", () => {
  /** Derived by two independent libraries from the venue's published rule (aster-code.py), with the development key 0. */
  it("has the digests that other libraries made", () => {
    const params = {
      agentName: "svc-agent",
      agentAddress: "0x21cF8Ae13Bb72632562c6Fff438652Ba1a151bb0",
      ipWhitelist: "",
      expired: END_MS,
      canSpotTrade: false,
      canPerpTrade: true,
      canWithdraw: false,
      asterChain: "Mainnet",
      user: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      nonce: 1_763_600_000_000_010,
    };
    const fields = managementFields(params);
    const approved = typedDataText(messageDomain(56), "ApproveAgent", fields, managementMessage(params));
    expect(read(approved).digest).toBe("0x77026a53616878260838b1efc550252bc932cd50229c37e26fe0eb24d8fe6542");
    const msg =
      "user=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&nonce=1763600000000015&agentName=svc&agentAddress=0x21cF8Ae13Bb72632562c6Fff438652Ba1a151bb0&expired=1967945395040&signatureChainId=56&canSpotTrade=false&canPerpTrade=true&canWithdraw=true&ipWhitelist=192.0.2.10 198.51.100.0/24";
    const registered = typedDataText(messageDomain(56), "Message", MESSAGE_FIELDS, { msg });
    expect(read(registered).digest).toBe("0xbe42749bf45d17f74bbbc28d11e68ebbda2d3a1a9640e4fcb1e0775c7644008e");
  });

  it.each([TRADES, WITHDRAWS])("is the text of a registration, whose parameters are sent: %j", (terms) => {
    const act = registration(KEY, terms, NONCE);
    const withdraws = terms.ipWhitelist.length > 0;
    const msg =
      `user=${ACCOUNT}&nonce=${NONCE}&agentName=unwind-1&agentAddress=${AGENT}&expired=${END_MS}&signatureChainId=56` +
      `&canSpotTrade=true&canPerpTrade=true&canWithdraw=${withdraws}&ipWhitelist=${terms.ipWhitelist.join(" ")}`;
    expect(read(act.toSign.text)).toEqual({
      digest: toHex(signWalletMessage(msg, 56, ANY_KEY).digest),
      reading: {
        kind: "act",
        act: {
          act: withdraws ? "agentThatWithdraws" : "registerAgent",
          account: ACCOUNT,
          destination: null,
          spent: null,
        },
      },
    });
    const pairs = msg.split("&").map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
    expect(sent(act)).toEqual(Object.fromEntries(pairs));
    expect(act.request.form).not.toContain("+");
  });

  it.each([TRADES, WITHDRAWS])("has the sent parameters of an approval as its fields: %j", (terms) => {
    const act = approval({ ...KEY, name: "unwind-2" }, terms, NONCE);
    const withdraws = terms.ipWhitelist.length > 0;
    const params = {
      agentName: "unwind-2",
      agentAddress: AGENT,
      ipWhitelist: terms.ipWhitelist.join(" "),
      expired: END_MS,
      canSpotTrade: true,
      canPerpTrade: true,
      canWithdraw: withdraws,
      asterChain: "Mainnet",
      user: ACCOUNT,
      nonce: NONCE,
    };
    expect(read(act.toSign.text)).toMatchObject({
      digest: toHex(signManagement("ApproveAgent", params, ANY_KEY).digest),
      reading: { act: { act: withdraws ? "agentThatWithdraws" : "approveAgent", account: ACCOUNT } },
    });
    expect([...new URLSearchParams(act.request.form)]).toEqual([
      ...Object.entries(params).map(([name, value]) => [name, String(value)]),
      ["signatureChainId", "56"],
    ]);
  });

  it("names the agent alone for a removal", () => {
    const act = removal(KEY, { ...TRADES, isMainnet: false }, NONCE);
    const params = { agentAddress: AGENT, asterChain: "Testnet", user: ACCOUNT, nonce: NONCE };
    expect(read(act.toSign.text)).toMatchObject({
      digest: toHex(signManagement("DelAgent", params, ANY_KEY).digest),
      reading: { act: { act: "deleteAgent", account: ACCOUNT } },
    });
    expect(callOf(act.request, "0xsig")).toEqual({
      method: "DELETE",
      path: "/fapi/v3/agent",
      weight: 1,
      form: `agentAddress=${AGENT}&asterChain=Testnet&user=${ACCOUNT}&nonce=${NONCE}&signatureChainId=56&signature=0xsig`,
    });
  });
});

describe("what is stored of an act", () => {
  it("is read again as it was written, and nothing else is", () => {
    const { request } = approval(KEY, TRADES, NONCE);
    expect(readRequest(JSON.stringify(request))).toEqual(request);
    for (const other of [
      "",
      "[]",
      "{}",
      JSON.stringify({ ...request, call: "toString" }),
      JSON.stringify({ ...request, form: 1 }),
    ])
      expect(readRequest(other)).toBeNull();
  });
});
