/** A withdrawal as a wallet signs it (fact sheet 9.3). */
import { mainWallet } from "./support.js";

export const FIELDS = [
  { name: "type", type: "string" },
  { name: "destination", type: "address" },
  { name: "destination Chain", type: "string" },
  { name: "token", type: "string" },
  { name: "amount", type: "string" },
  { name: "fee", type: "string" },
  { name: "nonce", type: "uint256" },
  { name: "aster chain", type: "string" },
] as const;

const CHAIN_NAMES: Readonly<Record<string, string>> = { "1": "ETH", "56": "BSC", "42161": "Arbitrum" };

/** Parameters of the call, with the wallet's signature; `nonceMs` is milliseconds. `signed` differs from what is sent. */
export async function withdrawal(
  nonceMs: number,
  changes: Readonly<Record<string, string>> = {},
  signed: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const params = {
    chainId: "56",
    asset: "USDT",
    amount: "30",
    fee: "1",
    receiver: mainWallet.address as string,
    userNonce: String(nonceMs * 1_000),
    ...changes,
  };
  const meant = { ...params, ...signed };
  const userSignature = await mainWallet.signTypedData({
    domain: {
      name: "Aster",
      version: "1",
      chainId: Number(meant.chainId),
      verifyingContract: "0x0000000000000000000000000000000000000000",
    },
    types: { Action: FIELDS },
    primaryType: "Action",
    message: {
      type: "Withdraw",
      destination: meant.receiver as `0x${string}`,
      "destination Chain": CHAIN_NAMES[meant.chainId] ?? "",
      token: meant.asset,
      amount: meant.amount,
      fee: meant.fee,
      nonce: BigInt(meant.userNonce),
      "aster chain": "Mainnet",
    },
  });
  return { ...params, userSignature };
}
