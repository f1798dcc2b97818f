/**
 * Withdrawal from the futures or the spot account, fact sheet 9.3: asked for by who may withdraw, and signed by the main
 * wallet over where and how much. The money leaves the account at once, and reaches the wallet on chain later.
 */
import { type Hex, keccak256, recoverTypedDataAddress } from "viem";
import type { WorldChainId } from "../../chain/world-plan.js";
import { parseScaled } from "../../core/model/fixed.js";
import type { Route, SignedCall, VenuetwoContext } from "../records/context.js";
import { type AccountType, ASSET } from "../records/money-desk.js";
import { refuse, refuseInvalid, VenuetwoRefusal } from "../wire/errors.js";
import { parseGasCost } from "./withdraw-fees.js";

const CHAINS: ReadonlyMap<number, string> = new Map([
  [1, "ETH"],
  [56, "BSC"],
  [42161, "Arbitrum"],
]);
/** The signed nonce may differ from the venue's time by an hour. */
const NONCE_WINDOW_US = 3_600_000_000n;

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

/** From the spot or from the futures account. */
export function withdrawRoute(accountType: AccountType): Route {
  return {
    weight: 5,
    security: "withdraw",
    answer: async (call) => {
      const { params, caller, context } = call;
      const index = context.log.received({
        action: "withdraw",
        signer: caller.signer,
        accountId: caller.accountId,
        qty: params.text("amount"),
        nonce: params.text(nonceName(call)),
      });
      try {
        const withdrawId = await withdraw(call, accountType);
        context.log.executed(index, null);
        return { withdrawId, hash: keccak256(params.required("userSignature") as Hex) };
      } catch (error) {
        if (error instanceof VenuetwoRefusal) context.log.refused(index, String(error.code), error.message);
        throw error;
      }
    },
  };
}

/** `nonce` is that of the signed call on V3, so the wallet's has another name there. */
const nonceName = ({ version }: SignedCall): "userNonce" | "nonce" => (version === "v3" ? "userNonce" : "nonce");

async function withdraw(call: SignedCall, accountType: AccountType): Promise<string> {
  const { context, caller, params } = call;
  const { money, keys } = context;
  const [asset, amount, fee] = [params.required("asset"), params.required("amount"), params.required("fee")];
  if (asset !== ASSET) throw refuseInvalid("asset");
  const chainId = params.integer("chainId") ?? 0;
  const decimals = money.decimals(chainId);
  if (decimals === null || !CHAINS.has(chainId)) throw refuseInvalid("chainId");
  const [amountE12, feeE12] = [amount, fee].map((text) => amountOf(text, decimals));
  if (amountE12 === undefined || amountE12 === null || amountE12 <= 0n) throw refuseInvalid("amount");
  if (feeE12 === undefined || feeE12 === null || feeE12 < parseGasCost(chainId)) throw refuseInvalid("fee");
  const receiver = params.required("receiver");
  // The account's own registered address, and no other.
  const wallet = keys.walletOf(caller.accountId);
  if (wallet === null || receiver.toLowerCase() !== wallet) throw refuseInvalid("receiver");
  const nonce = BigInt(params.integer(nonceName(call)) ?? 0);
  const signer = await signerOf(call, { receiver, asset, amount, fee, nonce });
  if (signer !== wallet) throw refuse("signature");
  checkNonce(context, wallet, nonce);
  const request = { accountId: caller.accountId, wallet: wallet as Hex, chainId: chainId as WorldChainId, accountType };
  const withdrawId = money.withdraw({ ...request, amountE12, feeE12, amount });
  if (withdrawId === null) throw refuse("balance");
  return withdrawId;
}

function checkNonce({ exchange, keys, money }: VenuetwoContext, wallet: string, nonce: bigint): void {
  const distanceUs = nonce - BigInt(exchange.nowMs()) * 1000n;
  if (distanceUs > NONCE_WINDOW_US || distanceUs < -NONCE_WINDOW_US) throw refuse("nonceExpired");
  const use = keys.useNonce(`withdraw ${wallet}`, nonce);
  if (use === "used" && money.settings.repeatedNonce === "accept") return;
  if (use !== "new") throw refuse("nonceDuplicate");
}

/** No finer than the token is on that chain, nor than the venue counts. */
function amountOf(text: string, decimals: number): bigint | null {
  const scale = Math.min(decimals, 12);
  const value = parseScaled(text, scale);
  return value === null ? null : value * 10n ** BigInt(12 - scale);
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
