/** Agents and builders of V3, fact sheet 4.3. Management calls are signed by the main wallet in their own typed data. */
import { recoverTypedDataAddress, type Hex } from "viem";
import type { Call, Route } from "../records/context.js";
import { refuse, refuseInvalid, VenuetwoRefusal } from "../wire/errors.js";

const SUCCESS = { code: 200, msg: "success" };
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export const AGENT_ROUTES: Readonly<Record<string, Route>> = {
  "GET agent": {
    weight: 1,
    security: "signed",
    answer: ({ context, caller }) =>
      context.keys.agentsOf(caller.user ?? "").map((agent) => ({
        agentAddress: agent.signer,
        agentName: agent.name,
        ipWhitelist: agent.ipWhitelist,
        expired: agent.expiresMs,
        source: "api",
        canRead: true,
        canSpotTrade: agent.canSpotTrade,
        canPerpTrade: agent.canPerpTrade,
        canWithdraw: agent.canWithdraw,
      })),
  },
  "GET builder": {
    weight: 1,
    security: "signed",
    answer: ({ context, caller }) =>
      (context.keys.builders.get(caller.user ?? "") ?? []).map((builder) => ({ userAddress: caller.user, ...builder })),
  },
  "POST approveBuilder": { weight: 1, security: "own", answer: approveBuilder },
  "POST approveAgent": { weight: 1, security: "own", answer: (call) => approveAgent(call, "ApproveAgent") },
  "POST updateAgent": { weight: 1, security: "own", answer: (call) => approveAgent(call, "UpdateAgent") },
  "DELETE agent": { weight: 1, security: "own", answer: deleteAgent },
  "POST registerAndApproveAgent": { weight: 50, security: "own", answer: registerAgent },
};

async function approveAgent(call: Call, primaryType: "ApproveAgent" | "UpdateAgent"): Promise<unknown> {
  const user = await call.context.auth.management(call.request, primaryType);
  const agentAddress = addressOf(call, "agentAddress");
  return logged(
    call,
    { action: primaryType === "ApproveAgent" ? "approveAgent" : "updateAgent", user, agentAddress },
    () => {
      if (primaryType === "UpdateAgent" && call.context.keys.agent(agentAddress)?.user !== user)
        throw new VenuetwoRefusal(-1000, "No agent found");
      approve(call, user, agentAddress);
    },
  );
}

async function deleteAgent(call: Call): Promise<unknown> {
  const user = await call.context.auth.management(call.request, "DelAgent");
  const agentAddress = addressOf(call, "agentAddress");
  return logged(call, { action: "revokeAgent", user, agentAddress }, () => {
    const agent = call.context.keys.agent(agentAddress);
    if (agent === null || agent.user !== user || agent.signer === user)
      throw new VenuetwoRefusal(-1000, "No agent found");
    call.context.keys.revoke(agent.signer);
  });
}

async function approveBuilder(call: Call): Promise<unknown> {
  const { context, params } = call;
  const user = await context.auth.management(call.request, "ApproveBuilder");
  context.auth.checkNonce(user, params.required("nonce"));
  if (!context.keys.knowsWallet(user)) throw new VenuetwoRefusal(-1000, "No account found");
  const builders = context.keys.builders.get(user) ?? [];
  builders.push({
    builderAddress: params.required("builder"),
    maxFeeRate: params.required("maxFeeRate"),
    builderName: params.text("builderName") ?? "",
  });
  context.keys.builders.set(user, builders.slice(-10));
  return SUCCESS;
}

/** The parameters that the registration's text names, in its order. */
const REGISTRATION = [
  "user",
  "nonce",
  "agentName",
  "agentAddress",
  "expired",
  "signatureChainId",
  "canSpotTrade",
  "canPerpTrade",
  "canWithdraw",
  "ipWhitelist",
] as const;

/** `Message` over a fixed list of fields, on the domain of the signature's chain. Unknown wallets get an account. */
async function registerAgent(call: Call): Promise<unknown> {
  const { params } = call;
  const msg = REGISTRATION.map((name) => `${name}=${params.text(name) ?? ""}`).join("&");
  const user = params.required("user").toLowerCase();
  const signature = params.required("signature");
  const recovered = await recoverTypedDataAddress({
    domain: {
      name: "AsterSignTransaction",
      version: "1",
      chainId: params.integer("signatureChainId") ?? 56,
      verifyingContract: "0x0000000000000000000000000000000000000000",
    },
    types: { Message: [{ name: "msg", type: "string" }] },
    primaryType: "Message",
    message: { msg },
    signature: (signature.startsWith("0x") ? signature : `0x${signature}`) as Hex,
  }).catch(() => null);
  if (recovered === null || recovered.toLowerCase() !== user) throw refuse("signature");
  const agentAddress = addressOf(call, "agentAddress");
  return logged(call, { action: "registerAgent", user, agentAddress }, () => {
    checkTerms(call);
    openAccount(call, user);
    approve(call, user, agentAddress);
  });
}

/** The control API may have made the account before its owner came. */
function openAccount({ context: { exchange, keys } }: Call, user: string): void {
  if (keys.knowsWallet(user)) return;
  if (exchange.accounts.find(user) === null) exchange.desk.createAccount({ accountId: user, deposit: "0" });
  keys.register(user, { wallet: user });
}

interface AgentAct {
  readonly action: string;
  /** Main wallet, whose signature was right. */
  readonly user: string;
  readonly agentAddress: string;
}

/** Uses the nonce, then acts; the log has the act with its end. */
function logged(call: Call, { action, user, agentAddress }: AgentAct, act: () => void): unknown {
  const { auth, keys, log } = call.context;
  const nonce = call.params.required("nonce");
  const accountId = keys.accountOf(user) ?? user;
  const index = log.received({ action, signer: user, accountId, nonce, agent: agentAddress });
  try {
    auth.checkNonce(user, nonce);
    act();
  } catch (error) {
    if (error instanceof VenuetwoRefusal) log.refused(index, String(error.code), error.message);
    throw error;
  }
  log.executed(index, null);
  return SUCCESS;
}

function checkTerms({ context, params }: Call): void {
  const expiresMs = params.integer("expired");
  if (expiresMs === null || expiresMs <= context.exchange.nowMs()) throw refuseInvalid("expired");
  if (params.boolean("canWithdraw") === true && params.text("ipWhitelist") === null) throw refuseInvalid("ipWhitelist");
}

function approve(call: Call, user: string, agentAddress: string): void {
  checkTerms(call);
  const { params, context } = call;
  const agent = context.keys.approve(user, agentAddress, {
    name: params.text("agentName") ?? "",
    expiresMs: params.integer("expired") ?? 0,
    ipWhitelist: params.text("ipWhitelist") ?? "",
    canPerpTrade: params.boolean("canPerpTrade") ?? false,
    canSpotTrade: params.boolean("canSpotTrade") ?? false,
    canWithdraw: params.boolean("canWithdraw") ?? false,
  });
  if (agent === null) throw new VenuetwoRefusal(-1000, "No account found");
}

function addressOf(call: Call, name: string): string {
  const value = call.params.required(name);
  if (!ADDRESS.test(value)) throw refuseInvalid(name);
  return value.toLowerCase();
}
