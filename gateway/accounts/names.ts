/** How wallets and accounts are named: shapes only. */
import type { AccountForm } from "../../schemas/venue-contract.js";

const WALLET_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EVM_ADDRESS = /^0x[0-9a-f]{40}$/i;
/** 32 bytes in base58. */
const BASE58_KEY = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** A UUID. */
export function isWalletId(text: string): boolean {
  return WALLET_ID.test(text);
}

export function isEvmAddress(text: string): boolean {
  return EVM_ADDRESS.test(text);
}

function isBase58Key(text: string): boolean {
  return BASE58_KEY.test(text);
}

export function isAccountName(text: string, form: AccountForm): boolean {
  return form === "base58" ? isBase58Key(text) : isEvmAddress(text);
}
