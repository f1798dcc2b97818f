/**
 * What makes or changes an agent, for the co-signer's policy: typed data whose fields are the sent
 * parameters, or one text of the same parameters (sections 4.3 and 9 of the sheet). An agent that may withdraw can take
 * the money, so it is an act of its own; a message that does not say that the agent may not counts as one that says it may.
 */
import type { TypedData } from "../../../engine/custody/digest/typed-data-types.js";

export interface AgentReading {
  readonly act: "registerAgent" | "approveAgent" | "updateAgent" | "deleteAgent" | "agentThatWithdraws";
  /** Whose agent it becomes, lower case. */
  readonly account: string;
  /** The builder, who gets fees of what the agent trades. */
  readonly destination: string | null;
}

const PRIMARY_TYPES = new Map([
  ["ApproveAgent", "approveAgent"],
  ["UpdateAgent", "updateAgent"],
  ["DelAgent", "deleteAgent"],
] as const);

/** As the typed data writes them; the text has the first letter small. Another parameter could mean anything. */
const PARAMETERS = new Set([
  "AgentName",
  "AgentAddress",
  "IpWhitelist",
  "Expired",
  "CanSpotTrade",
  "CanPerpTrade",
  "CanWithdraw",
  "Builder",
  "MaxFeeRate",
  "BuilderName",
  "AsterChain",
  "SignatureChainId",
  "User",
  "Nonce",
]);

/** Nothing that a form's encoding could turn into another parameter: no `&`, `=`, `%`, `+`. */
const PLAIN_VALUE = /^[A-Za-z0-9 ._:/-]*$/;

export function readAgentFields(typed: TypedData): AgentReading | null {
  const act = (PRIMARY_TYPES as ReadonlyMap<string, AgentReading["act"]>).get(typed.primaryType);
  if (act === undefined) return null;
  const values = new Map<string, string>();
  for (const [name, value] of typed.message) {
    if (
      !PARAMETERS.has(name) ||
      !(typeof value === "string" || typeof value === "bigint" || typeof value === "boolean")
    )
      return null;
    values.set(name, String(value));
  }
  return agentOf(act, values);
}

export function readAgentText(message: unknown): AgentReading | null {
  if (typeof message !== "string") return null;
  const values = new Map<string, string>();
  for (const pair of message.split("&")) {
    const [name, value, ...rest] = pair.split("=");
    if (name === undefined || value === undefined || rest.length > 0 || !/^[a-z]/.test(name)) return null;
    const parameter = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    if (!PARAMETERS.has(parameter) || values.has(parameter) || !PLAIN_VALUE.test(value)) return null;
    values.set(parameter, value);
  }
  return agentOf("registerAgent", values);
}

function agentOf(act: AgentReading["act"], values: ReadonlyMap<string, string>): AgentReading | null {
  const account = anyCaseAddress(values.get("User"));
  const builder = values.get("Builder");
  const destination = builder === undefined ? null : anyCaseAddress(builder);
  if (account === null || (builder !== undefined && destination === null)) return null;
  const isHarmless = act === "deleteAgent" || values.get("CanWithdraw") === "false";
  return { act: isHarmless ? act : "agentThatWithdraws", account, destination };
}

/** The venue takes addresses in these texts in any case, and no address is allowed by this alone. */
function anyCaseAddress(text: string | undefined): string | null {
  return text !== undefined && /^0x[0-9a-fA-F]{40}$/.test(text) ? text.toLowerCase() : null;
}
