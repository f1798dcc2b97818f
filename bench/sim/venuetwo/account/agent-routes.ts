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
  if (primaryType === "UpdateAgent" && call.context.keys.agent(agentAddress) === null)
    throw new VenuetwoRefusal(-1000, "No agent found");
  approve(call, user, agentAddress);
  return SUCCESS;
}

async function deleteAgent(call: Call): Promise<unknown> {
  const user = await call.context.auth.management(call.request, "DelAgent");
  const agent = call.context.keys.agent(addressOf(call, "agentAddress"));
  if (agent === null || agent.user !== user || agent.signer === user)
    throw new VenuetwoRefusal(-1000, "No agent found");
  call.context.keys.revoke(agent.signer);
  return SUCCESS;
}

async function approveBuilder(call: Call): Promise<unknown> {
  const { context, params } = call;
  const user = await context.auth.management(call.request, "ApproveBuilder");
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

/** `Message` over a fixed list of fields, on the domain of the signature's chain. Unknown wallets get an account. */
async function registerAgent(call: Call): Promise<unknown> {
  const { context, params } = call;
  const names = [
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
  ];
  const msg = names.map((name) => `${name}=${params.text(name) ?? ""}`).join("&");
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
  context.auth.checkNonce(user, params.required("nonce"));
  if (params.boolean("canWithdraw") === true && params.text("ipWhitelist") === null) throw refuseInvalid("ipWhitelist");
  if (!context.keys.knowsWallet(user)) {
    context.exchange.desk.createAccount({ accountId: user, deposit: "0" });
    context.keys.register(user, { wallet: user });
  }
  approve(call, user, addressOf(call, "agentAddress"));
  return SUCCESS;
}

function approve(call: Call, user: string, agentAddress: string): void {
  const { params, context } = call;
  const expiresMs = params.integer("expired");
  if (expiresMs === null || expiresMs <= context.exchange.nowMs()) throw refuseInvalid("expired");
  const agent = context.keys.approve(user, agentAddress, {
    name: params.text("agentName") ?? "",
    expiresMs,
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
