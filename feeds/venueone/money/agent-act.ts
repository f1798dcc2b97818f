/**
 * The act by which a wallet approves an agent or drops one (sheet sections 5.2, 6.3 and 7): the action, what the wallet
 * signs of it, and what the venue's refusals of it mean. Pure.
 */
import type { ActOutcome, VenueKey, WalletText } from "../../../engine/key-registrar.js";
import { REPEATED_ACT, refusedAct, spentAct } from "../../shared/orders/act-outcome.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { isAddress, ZERO_ADDRESS } from "../../shared/sign/eip712.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import { classifyText, nonceProblem } from "../rules/errors.js";
import { USER_ACTION_TYPES, userActionDomain } from "../sign/typed-data.js";

/** After a revocation approvals are refused for about this long. */
const REMOVAL_MS = 5_000;
/** Over its budget an address still gets one request through each ten seconds. */
const OVER_BUDGET_INTERVAL_MS = 10_000;

export interface ApproveAgent {
  readonly type: "approveAgent";
  /** Hex; any chain that the wallet signs on. The network is separated by the next field. */
  readonly signatureChainId: string;
  readonly hyperliquidChain: "Mainnet" | "Testnet";
  /** The zero address: who has the name now is dropped. */
  readonly agentAddress: string;
  readonly agentName: string;
  readonly nonce: number;
}

/** What is stored of the act until it is sent. */
export interface AgentRequest {
  /** Lower case; whom a refusal has to name to be about this wallet. */
  readonly account: string;
  readonly action: ApproveAgent;
}

/** `endMs` is in the name, as the venue wants it. */
export function approvalOf(key: VenueKey, isMainnet: boolean, nonce: number): AgentRequest {
  const end = key.expiresAtMs === null ? "" : ` valid_until ${key.expiresAtMs}`;
  return request(key.account, key.signer, `${key.name}${end}`, isMainnet, nonce);
}

export function revocationOf(key: VenueKey, isMainnet: boolean, nonce: number): AgentRequest {
  return request(key.account, ZERO_ADDRESS, key.name, isMainnet, nonce);
}

function request(
  account: string,
  agentAddress: string,
  agentName: string,
  isMainnet: boolean,
  nonce: number,
): AgentRequest {
  const network = isMainnet
    ? ({ signatureChainId: "0xa4b1", hyperliquidChain: "Mainnet" } as const)
    : ({ signatureChainId: "0x66eee", hyperliquidChain: "Testnet" } as const);
  return { account, action: { type: "approveAgent", ...network, agentAddress, agentName, nonce } };
}

export function textToSign({ action }: AgentRequest): WalletText {
  const { primaryType, fields } = USER_ACTION_TYPES.approveAgent;
  const text = typedDataText(userActionDomain(action.signatureChainId), primaryType, fields, { ...action });
  return { kind: "typedData", text };
}

export function writeRequest(agentRequest: AgentRequest): string {
  return JSON.stringify(agentRequest);
}

/** Null: another program wrote it. */
export function readRequest(text: string): AgentRequest | null {
  const stored = parseJsonExact(text);
  if (!isFields(stored) || !isFields(stored["action"])) return null;
  const { account, action } = stored;
  const { type, signatureChainId, hyperliquidChain, agentAddress, agentName, nonce } = action;
  if (typeof account !== "string" || typeof signatureChainId !== "string" || typeof agentName !== "string") return null;
  if (type !== "approveAgent" || typeof nonce !== "number") return null;
  if (hyperliquidChain !== "Mainnet" && hyperliquidChain !== "Testnet") return null;
  if (typeof agentAddress !== "string" || !isAddress(agentAddress)) return null;
  return { account, action: { type, signatureChainId, hyperliquidChain, agentAddress, agentName, nonce } };
}

/** `signature`: r ‖ s ‖ v. The venue takes neither a vault nor an expiry with this action. */
export function bodyOf({ action }: AgentRequest, signature: string): string {
  const [r, s] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`];
  return JSON.stringify({
    action,
    nonce: action.nonce,
    signature: { r, s, v: Number.parseInt(signature.slice(130), 16) },
  });
}

/**
 * `{"status":"err"}`: the venue refuses before it executes. What it refuses for the act itself has used up its nonce (sheet
 * section 7); for the account, a limit or its clock it has not, and takes the same bytes once those have changed.
 */
export function outcomeOfRefusal({ account, action }: AgentRequest, text: string): ActOutcome {
  const nonce = nonceProblem(text)?.kind;
  // Every nonce of the window is remembered, and this is said before any other word: these very bytes came before.
  if (nonce === "duplicate") return REPEATED_ACT;
  if (nonce === "tooHigh") return refusedAct("OTHER", text);
  switch (classifyText(text).code) {
    case "noAccount":
      // A signature that the venue reads otherwise recovers to a stranger, whom the text then names.
      return text.toLowerCase().includes(`user: ${account}`) ? refusedAct("NOT_FUNDED", text) : spentAct("OTHER", text);
    case "tooManyAgents":
      return spentAct("KEY_LIMIT", text);
    case "agentRemoval":
      return spentAct("BUSY", text, REMOVAL_MS);
    case "addressBudget":
      return refusedAct("RATE_LIMITED", text, OVER_BUDGET_INTERVAL_MS);
    case "agentUsed":
      // The address belongs to 32 random bytes made for this key, so only an approval of this key can have used it: this
      // act, where the venue no longer remembers its nonce, or one of before it. Whether it is an agent now, the list says.
      return action.agentAddress === ZERO_ADDRESS ? spentAct("OTHER", text) : REPEATED_ACT;
    default:
      return spentAct("OTHER", text);
  }
}
