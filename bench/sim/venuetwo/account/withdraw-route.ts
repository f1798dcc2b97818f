/**
 * Withdrawal from the futures account, fact sheet 9.3: asked for by who may withdraw, and signed by the main wallet over
 * where and how much. The money leaves the account at once; no chain is behind it.
 */
import { recoverTypedDataAddress, type Hex } from "viem";
import { parseScaled } from "../../core/model/fixed.js";
import { createHash } from "node:crypto";
import type { Route, SignedCall } from "../records/context.js";
import { refuse, refuseInvalid } from "../wire/errors.js";

const CHAINS: ReadonlyMap<number, string> = new Map([
  [1, "ETH"],
  [56, "BSC"],
  [42161, "Arbitrum"],
]);
/** The signed nonce may differ from the venue's time by an hour. */
const NONCE_WINDOW_US = 3_600_000_000n;
const FIRST_ID = 1_000_000_000_000_000_000n;

const TYPES = {
  Action: [
    { name: "type", type: "string" },
    { name: "destination", type: "address" },
    { name: "destination Chain", type: "string" },
    { name: "token", type: "string" },
    { name: "amount", type: "string" },
    { name: "fee", type: "string" },
    { name: "nonce", type: "uint256" },
    { name: "aster chain", type: "string" },
  ],
} as const;

/** Ids last as long as the routes. */
export function withdrawRoute(): Route {
  let nextId = FIRST_ID;
  return {
    weight: 5,
    security: "withdraw",
    answer: async (call) => {
      await withdraw(call);
      const withdrawId = String(nextId++);
      return { withdrawId, hash: `0x${createHash("sha256").update(withdrawId).digest("hex")}` };
    },
  };
}

async function withdraw(call: SignedCall): Promise<void> {
  const { context, caller, params } = call;
  const [asset, amount, fee] = [params.required("asset"), params.required("amount"), params.required("fee")];
  const [amountE12, feeE12] = [parseScaled(amount, 12), parseScaled(fee, 12)];
  if (asset !== "USDT") throw refuseInvalid("asset");
  if (amountE12 === null || amountE12 <= 0n) throw refuseInvalid("amount");
  if (feeE12 === null || feeE12 < 0n) throw refuseInvalid("fee");
  const receiver = params.required("receiver");
  // The account's own registered address, and no other.
  if (receiver.toLowerCase() !== caller.user) throw refuseInvalid("receiver");
  const nonce = BigInt(params.integer("userNonce") ?? 0);
  const signer = await signerOf(call, { receiver, asset, amount, fee, nonce });
  if (signer !== caller.user) throw refuse("signature");
  const distanceUs = nonce - BigInt(context.exchange.nowMs()) * 1000n;
  if (distanceUs > NONCE_WINDOW_US || distanceUs < -NONCE_WINDOW_US) throw refuse("nonceExpired");
  if (context.keys.useNonce(`withdraw ${signer}`, nonce) !== "new") throw refuse("nonceDuplicate");
  if (!context.exchange.desk.adjustWallet(caller.accountId, -(amountE12 + feeE12), "WITHDRAW").ok)
    throw refuse("balance");
}

interface Signed {
  readonly receiver: string;
  readonly asset: string;
  readonly amount: string;
  readonly fee: string;
  readonly nonce: bigint;
}

/** Null: nobody's signature. */
async function signerOf({ params }: SignedCall, signed: Signed): Promise<string | null> {
  const chainId = params.integer("chainId") ?? 0;
  const chain = CHAINS.get(chainId);
  if (chain === undefined) throw refuseInvalid("chainId");
  const { receiver, asset, amount, fee, nonce } = signed;
  const recovered = await recoverTypedDataAddress({
    domain: { name: "Aster", version: "1", chainId, verifyingContract: "0x0000000000000000000000000000000000000000" },
    types: TYPES,
    primaryType: "Action",
    message: {
      type: "Withdraw",
      destination: receiver as Hex,
      "destination Chain": chain,
      token: asset,
      amount,
      fee,
      nonce,
      "aster chain": "Mainnet",
    },
    signature: params.required("userSignature") as Hex,
  }).catch(() => null);
  return recovered?.toLowerCase() ?? null;
}
