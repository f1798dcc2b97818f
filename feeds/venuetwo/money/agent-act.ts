/**
 * The acts by which a wallet makes an agent or drops one (sheet section 4.3): what is sent, what the wallet signs of it,
 * and what the venue's answers mean. Pure.
 *
 * A wallet's first key is registered and approved in one call, which gives a wallet that the venue never saw its account.
 * Later ones are approved.
 */
import type { ActOutcome, VenueKey, WalletText } from "../../../engine/key-registrar.js";
import { isRateLimitStatus, type HttpResponse } from "../../shared/net/call-results.js";
import { DONE_ACT, REPEATED_ACT, refusedAct, UNKNOWN_ACT, wordlessAct } from "../../shared/orders/act-outcome.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import { limitRetryAfterMs } from "../account/rest.js";
import { readError } from "../account/wire.js";
import { classifyError, isClockError, isOutcomeUnknown } from "../rules/errors.js";
import { encodeForm, messageDomain } from "../sign/sign.js";
import {
  MANAGEMENT_CHAIN_ID,
  managementFields,
  managementMessage,
  type ManagementParams,
  MESSAGE_FIELDS,
  registerAgentMessage,
} from "../sign/sign-wallet.js";

const CALLS = {
  register: { method: "POST", path: "/fapi/v3/registerAndApproveAgent", weight: 50 },
  approve: { method: "POST", path: "/fapi/v3/approveAgent", weight: 1 },
  drop: { method: "DELETE", path: "/fapi/v3/agent", weight: 1 },
} as const;
type CallName = keyof typeof CALLS;

/** What is stored of the act until it is sent. */
export interface AgentRequest {
  /** Lower case; whose act it is. */
  readonly account: string;
  readonly call: CallName;
  /** All parameters but the signature, as they are sent. */
  readonly form: string;
}

export interface AgentAct {
  readonly request: AgentRequest;
  readonly toSign: WalletText;
}

export interface AgentTerms {
  readonly isMainnet: boolean;
  /** From where the agent may withdraw; empty: it may not at all. */
  readonly ipWhitelist: readonly string[];
}

export type EndingKey = VenueKey & { readonly expiresAtMs: number };

export function registration(key: EndingKey, { ipWhitelist }: AgentTerms, nonce: number): AgentAct {
  const { account, expiresAtMs, name, signer } = key;
  const msg = registerAgentMessage({
    user: account,
    nonce: String(nonce),
    agentName: name,
    agentAddress: signer,
    expired: String(expiresAtMs),
    canSpotTrade: true,
    canPerpTrade: true,
    canWithdraw: ipWhitelist.length > 0,
    ipWhitelist: ipWhitelist.join(" "),
  });
  const text = typedDataText(messageDomain(MANAGEMENT_CHAIN_ID), "Message", MESSAGE_FIELDS, { msg });
  // The text is signed as it reads, and sent as a form: no value of ours has a sign of the form's own.
  const form = encodeForm(msg.split("&").map((pair) => splitPair(pair)));
  return { request: { account, call: "register", form }, toSign: { kind: "typedData", text } };
}

export function approval(key: EndingKey, { ipWhitelist, isMainnet }: AgentTerms, nonce: number): AgentAct {
  return management("approve", "ApproveAgent", key.account, {
    agentName: key.name,
    agentAddress: key.signer,
    ipWhitelist: ipWhitelist.join(" "),
    expired: key.expiresAtMs,
    canSpotTrade: true,
    canPerpTrade: true,
    canWithdraw: ipWhitelist.length > 0,
    ...signedBy(key, isMainnet, nonce),
  });
}

export function removal(key: VenueKey, { isMainnet }: AgentTerms, nonce: number): AgentAct {
  const params = { agentAddress: key.signer, ...signedBy(key, isMainnet, nonce) };
  return management("drop", "DelAgent", key.account, params);
}

/** The end of every list of parameters. */
function signedBy({ account }: VenueKey, isMainnet: boolean, nonce: number): ManagementParams {
  return { asterChain: isMainnet ? "Mainnet" : "Testnet", user: account, nonce };
}

/** The fields of the typed data are the parameters in the order sent. */
function management(call: CallName, primaryType: string, account: string, params: ManagementParams): AgentAct {
  const fields = managementFields(params);
  const text = typedDataText(messageDomain(MANAGEMENT_CHAIN_ID), primaryType, fields, managementMessage(params));
  const pairs = Object.entries(params).map(([name, value]) => [name, String(value)] as const);
  const form = encodeForm([...pairs, ["signatureChainId", String(MANAGEMENT_CHAIN_ID)]]);
  return { request: { account, call, form }, toSign: { kind: "typedData", text } };
}

function splitPair(pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at), pair.slice(at + 1)];
}

/** Null: another program wrote it. */
export function readRequest(text: string): AgentRequest | null {
  const stored = parseJsonExact(text);
  if (!isFields(stored)) return null;
  const { account, call, form } = stored;
  if (typeof account !== "string" || typeof call !== "string" || typeof form !== "string") return null;
  return Object.hasOwn(CALLS, call) ? { account, call: call as CallName, form } : null;
}

export function callOf({ call, form }: AgentRequest, signature: string) {
  return { ...CALLS[call], form: `${form}&signature=${signature}` };
}

/** `venueNowMs`: by our estimate, for bans that name their end. */
export function outcomeOf(response: HttpResponse, venueNowMs: number): ActOutcome {
  // 503 is "sent on, no answer in time" by the venue's own words; nothing is known of any other 5xx.
  if (response.status >= 500) return UNKNOWN_ACT;
  const isOk = response.status >= 200 && response.status < 300;
  const error = readError(response.body);
  if (error === null) return isOk ? outcomeOfSuccess(response.body) : wordlessAct(response);
  const { code, msg } = error;
  // A nonce out of its window, a used one, and a used one that is no longer remembered: all have this code.
  if (code === NONCE_REFUSED) return REPEATED_ACT;
  const text = `${code} ${msg}`;
  if (isRateLimitStatus(response.status) || classifyError(code, msg).reason === "RATE_LIMITED")
    return refusedAct("RATE_LIMITED", text, limitRetryAfterMs(response, error, venueNowMs));
  return isOutcomeUnknown(code, msg) ? UNKNOWN_ACT : refusedAct("OTHER", text, isClockError(code) ? 0 : null);
}

const NONCE_REFUSED = -4225;
/** Codes of answers that report success, as numbers. */
const SUCCESS: ReadonlySet<unknown> = new Set([200, 0]);

function outcomeOfSuccess(body: string): ActOutcome {
  const answer = parseJsonExact(body);
  if (!isFields(answer)) return UNKNOWN_ACT;
  const { code } = answer;
  return code === undefined || SUCCESS.has(Number(code)) ? DONE_ACT : UNKNOWN_ACT;
}

export function isClockRefusal({ body }: HttpResponse): boolean {
  const error = readError(body);
  return error !== null && isClockError(error.code);
}
